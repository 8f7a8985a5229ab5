"""Opinions on what a visit to the endpoint brought: proxy, endpoint, TLS, clock, balance, models."""

from __future__ import annotations

import ssl
import time
from decimal import Decimal, InvalidOperation
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import openai

from deepseek_sdk.cli._account import models_of, money_of
from deepseek_sdk.cli._connection import causes, verify_error
from deepseek_sdk.cli._doctor.finding import failed, ok, skipped, warning
from deepseek_sdk.cli._doctor.visit import issuer_of
from deepseek_sdk.cli._exits import redact_url
from deepseek_sdk.routing.models import ALIASES, RETIRED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepseek_sdk.cli._doctor.finding import Finding
    from deepseek_sdk.cli._doctor.visit import HttpAnswer, Visit
    from deepseek_sdk.cli._language import Say

__all__ = ["judge_balance", "judge_clock", "judge_endpoint", "judge_models", "judge_proxy", "judge_tls"]

_LARGEST_SKEW_S = 60
_FEWEST_DAYS = 14
_DAY_S = 86_400
# OpenSSL's codes of what is wrong with a certificate.
_OUT_OF_TIME = (9, 10)
_OTHER_NAME = (62, 64)  # of a host, of an address
_NO_ROOT = (18, 19, 20, 21)


def judge_proxy(visit: Visit, say: Say) -> Finding:
    """Say which proxy is used for the endpoint, if any."""
    proxies = visit.proxies
    variables = ", ".join(proxies.variables) or say(en="no variable is set", zh="未设置相关环境变量")
    if proxies.problem is not None:
        return _judge_no_client(proxies.problem, variables, say)
    used = proxies.used or say(en="none", zh="无")
    return ok(
        "proxy", say(en="used for the endpoint: {}; {}", zh="访问该服务使用的代理：{}；{}").format(used, variables)
    )


def _judge_no_client(problem: Exception, variables: str, say: Say) -> Finding:
    if isinstance(problem, ImportError) and "socksio" in str(problem):
        detail = say(en="a SOCKS proxy needs the package socksio; {}", zh="SOCKS 代理需要 socksio 包；{}")
        return failed(
            "proxy", detail.format(variables), say(en="Run: ", zh="请运行：") + "python -m pip install socksio"
        )
    detail = say(en="no client can be made: {}; {}", zh="无法创建客户端：{}；{}").format(_told(problem), variables)
    if isinstance(problem, openai.OpenAIError):
        return skipped("proxy", detail, say(en="See settings.", zh="见 settings 一项。"))
    if isinstance(problem, FileNotFoundError | ssl.SSLError):
        advice = say(
            en="SSL_CERT_FILE or SSL_CERT_DIR must name certificates that exist.",
            zh="SSL_CERT_FILE 或 SSL_CERT_DIR 必须指向存在的证书。",
        )
    else:
        advice = say(en="Correct the proxy variables.", zh="请改正代理环境变量。")
    return failed("proxy", detail, advice)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def judge_endpoint(visit: Visit, say: Say) -> Finding:
    """Say whether the endpoint answers, and how fast."""
    url = redact_url(visit.url)
    if visit.proxies.problem is not None:
        return skipped("endpoint", say(en="not asked: no client can be made", zh="未访问：无法创建客户端"))
    if visit.reach_error is not None:
        return _judge_unreachable(visit, visit.reach_error, say)
    answer = visit.models
    steps = say(en="{}: name {} ms, TCP {} ms", zh="{}：域名解析 {} 毫秒，TCP {} 毫秒")
    if visit.proxies.used:
        # The endpoint's own name is the proxy's to resolve.
        steps = say(
            en="{}: name of the proxy {} ms, TCP to it {} ms", zh="{}：代理的域名解析 {} 毫秒，与代理的 TCP {} 毫秒"
        )
    steps = steps.format(url, visit.resolve_ms, visit.connect_ms)
    if answer is None or answer.status is None:
        return _judge_no_answer(visit, answer, steps, say)
    detail = say(en="{}, HTTP {} {} ms", zh="{}，HTTP {} {} 毫秒").format(steps, answer.status, answer.elapsed_ms)
    return _judge_status(answer, answer.status, detail, say)


def _judge_unreachable(visit: Visit, error: Exception, say: Say) -> Finding:
    target = visit.proxies.used or redact_url(visit.url)
    if visit.resolve_ms is None:
        detail = say(en="{}: the name cannot be resolved: {}", zh="{}：域名无法解析：{}").format(target, error)
        advice = say(en="Check the address, the network and its DNS.", zh="请检查地址、网络和 DNS。")
    else:
        detail = say(en="{}: no TCP connection: {}", zh="{}：无法建立 TCP 连接：{}").format(target, error)
        advice = say(
            en="Check the address and the network; behind a firewall, set HTTPS_PROXY.",
            zh="请检查地址和网络；如果在防火墙后面，请设置 HTTPS_PROXY。",
        )
    if visit.proxies.used:
        detail = say(en="the proxy {}", zh="代理 {}").format(detail)
        advice = say(
            en="Correct the proxy ({}), or name the endpoint's host in NO_PROXY.",
            zh="请改正代理（{}），或把服务的域名加入 NO_PROXY。",
        ).format(", ".join(visit.proxies.variables))
    return failed("endpoint", detail, advice)


def _judge_no_answer(visit: Visit, answer: HttpAnswer | None, steps: str, say: Say) -> Finding:
    error = answer.error if answer else None
    if verify_error(error) is not None:
        text = say(en="{}, but the certificate is not trusted", zh="{}，但证书不受信任")
        return failed("endpoint", text.format(steps), say(en="See tls.", zh="见 tls 一项。"))
    if isinstance(error, openai.APITimeoutError):
        text = say(en="{}, but no answer within {:g} s", zh="{}，但 {:g} 秒内没有应答").format(steps, visit.timeout_s)
        advice = say(en="Try again, or give more time: --timeout 30.", zh="请重试，或放宽时限：--timeout 30。")
        return failed("endpoint", text, advice)
    reason = causes(error)[-1] if error else "?"
    text = say(en="{}, but no answer: {}", zh="{}，但没有应答：{}").format(steps, reason)
    advice = say(
        en="Something between here and the endpoint ends the connection: a proxy, a firewall, or no HTTP server there.",
        zh="本机到服务之间有环节断开了连接：代理、防火墙，或者对端并不是 HTTP 服务。",
    )
    return failed("endpoint", text, advice)


def _judge_status(answer: HttpAnswer, status: int, detail: str, say: Say) -> Finding:
    if "text/html" in answer.content_type and status != HTTPStatus.UNAUTHORIZED:
        text = say(en="{}, a web page", zh="{}，返回的是网页")
        advice = say(
            en="A login page of the network answers, or the base URL is not that of an API.",
            zh="可能是网络的登录页面在应答，也可能 base URL 不是 API 地址。",
        )
        return failed("endpoint", text.format(detail), advice)
    if status == HTTPStatus.NOT_FOUND:
        advice = say(
            en="The base URL may be wrong: most servers other than DeepSeek's want /v1 at its end.",
            zh="base URL 可能不对：DeepSeek 以外的服务大多以 /v1 结尾。",
        )
        return warning("endpoint", detail, advice)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        advice = say(en="The server has trouble; try again later.", zh="服务端故障，请稍后再试。")
        return failed("endpoint", detail, advice)
    if status in (407, 429):
        advice = say(en="Somebody refuses the request for now: {}", zh="请求暂时被拒绝：{}").format(answer.error)
        return warning("endpoint", detail, advice)
    return ok("endpoint", detail)


def judge_tls(visit: Visit, say: Say, *, now: float | None = None) -> Finding:
    """
    Say whether the connection is private, and with whom.

    Args:
        visit: What the endpoint said.
        say: Chooses the language.
        now: The time since 1970, in seconds; None for this moment's.

    Returns:
        What was found.
    """
    if not visit.is_tls:
        return _judge_plain(visit, say)
    answer = visit.models
    if answer is None or (answer.tls is None and verify_error(answer.error) is None):
        return skipped("tls", say(en="there was no connection to look at", zh="没有可供检查的连接"))
    if error := verify_error(answer.error):
        return _judge_distrust(error, visit.issuer, say)
    if answer.certificate is None:
        return ok("tls", f"{answer.tls}, {ssl.OPENSSL_VERSION}")
    return _judge_certificate(answer, answer.certificate, time.time() if now is None else now, say)


def _judge_plain(visit: Visit, say: Say) -> Finding:
    host = visit.url.partition("//")[2]
    if host.startswith(("127.", "localhost", "[::1]")):
        return skipped("tls", say(en="plain HTTP on this machine", zh="本机上的 HTTP，无需 TLS"))
    detail = say(en="plain HTTP: the key and all texts travel readable", zh="未加密的 HTTP：key 和全部内容都是明文传输")
    return warning("tls", detail, say(en="Use https:// in the base URL.", zh="请在 base URL 中使用 https://。"))


def _judge_certificate(answer: HttpAnswer, certificate: Mapping[str, Any], now: float, say: Say) -> Finding:
    days = int((ssl.cert_time_to_seconds(str(certificate["notAfter"])) - now) // _DAY_S)
    text = say(en="{}, certificate issued by {}, {} days left", zh="{}，证书签发者 {}，剩余 {} 天")
    detail = text.format(answer.tls, issuer_of(certificate), days)
    if days < _FEWEST_DAYS:
        advice = say(en="Whoever runs the endpoint must renew it.", zh="请服务的运维方更新证书。")
        return warning("tls", detail, advice)
    return ok("tls", detail)


def _judge_distrust(error: ssl.SSLCertVerificationError, issuer: str | None, say: Say) -> Finding:
    code, message = error.verify_code, error.verify_message
    detail = say(en="the certificate is not trusted: {}", zh="证书不受信任：{}").format(message)
    if issuer is not None:
        detail += say(en="; issued by {}", zh="；签发者 {}").format(issuer)
    if code in _OUT_OF_TIME:
        advice = say(
            en="Check the clock of this machine; else the endpoint must renew it.",
            zh="请先检查本机时钟；时钟无误则需服务方更新证书。",
        )
    elif code in _OTHER_NAME:
        advice = say(
            en="The certificate is for another host: check the base URL.", zh="证书属于别的主机：请检查 base URL。"
        )
    elif code in _NO_ROOT:
        advice = say(
            en="A company proxy or a virus scanner may replace certificates, or the server signs its own: "
            "save the root certificate as PEM and set SSL_CERT_FILE to that file.",
            zh="可能是公司代理或杀毒软件替换了证书，也可能是服务端自签名："
            "请把根证书存为 PEM 文件，并让 SSL_CERT_FILE 指向它。",
        )
    else:
        advice = say(en="Ask whoever runs the endpoint or the proxy.", zh="请联系服务或代理的运维方。")
    return failed("tls", detail, advice)


def judge_clock(visit: Visit, say: Say) -> Finding:
    """Say how far the local clock is from the server's."""
    skew = visit.models.skew_s if visit.models else None
    if skew is None:
        return skipped("clock", say(en="the endpoint did not say what time it is", zh="服务没有返回时间"))
    if abs(skew) > _LARGEST_SKEW_S:
        text = say(en="{:.0f} s ahead of the endpoint", zh="比服务端快 {:.0f} 秒")
        if skew < 0:
            text = say(en="{:.0f} s behind the endpoint", zh="比服务端慢 {:.0f} 秒")
        advice = say(en="Set the clock of this machine, by NTP if possible.", zh="请校准本机时钟，最好使用 NTP。")
        return warning("clock", text.format(abs(skew)), advice)
    return ok(
        "clock", say(en="within {:.0f} s of the endpoint's", zh="与服务端相差不到 {:.0f} 秒").format(abs(skew) + 1)
    )


def judge_balance(visit: Visit, say: Say) -> Finding:
    """Say what is left on the account."""
    if visit.status == HTTPStatus.PAYMENT_REQUIRED:
        return _judge_poor(say(en="the endpoint wants money (HTTP 402)", zh="服务返回余额不足（HTTP 402）"), say)
    answer = visit.balance
    if answer is None:
        return skipped("balance", say(en="not asked", zh="未查询"))
    if answer.status == HTTPStatus.NOT_FOUND:
        return skipped("balance", say(en="this endpoint tells none", zh="该服务不提供余额查询"))
    money = money_of(answer.body)
    if answer.error is not None or money is None:
        detail = say(en="no balance came: {}", zh="没有查到余额：{}").format(answer.error or answer.content_type)
        return warning("balance", detail, say(en="Try: deepseek-sdk balance", zh="请试试 deepseek-sdk balance"))
    is_available, infos = money
    shown = ", ".join(f"{info.get('total_balance')} {info.get('currency')}" for info in infos) or "0"
    if not is_available or not any(_amount(info.get("total_balance")) > 0 for info in infos):
        return _judge_poor(shown, say)
    return ok("balance", shown)


def _judge_poor(detail: str, say: Say) -> Finding:
    return warning(
        "balance", detail, say(en="Top up the account: calls end with 402.", zh="请充值，否则调用会返回 402。")
    )


def _amount(text: object) -> Decimal:
    try:
        return Decimal(str(text))
    except InvalidOperation:
        return Decimal(0)


def judge_models(visit: Visit, say: Say, *, model: str) -> Finding:
    """Say what the endpoint serves, and whether *model*, the one of the settings, is among it."""
    answer = visit.models
    if answer is None or answer.status is None or answer.error is not None:
        return skipped("models", say(en="not listed", zh="未列出"))
    names = [str(model.get("id")) for model in models_of(answer.body) or ()]
    if not names:
        advice = say(
            en="Check that the base URL is that of an OpenAI-compatible API.",
            zh="请确认 base URL 是 OpenAI 兼容的 API。",
        )
        return warning("models", say(en="the endpoint lists none", zh="服务没有列出任何模型"), advice)
    if model in names or ALIASES.get(model) in names:
        return ok("models", ", ".join(names))
    text = say(en="{}; the model of the settings, {}, is not among them", zh="{}；配置中的模型 {} 不在其中")
    if model in RETIRED:
        text = say(en="{}; the model of the settings, {}, was retired", zh="{}；配置中的模型 {} 已经下线")
    advice = say(en="Set DEEPSEEK_SDK_MODEL to one of them.", zh="请把 DEEPSEEK_SDK_MODEL 设为其中之一。")
    return warning("models", text.format(", ".join(names), model), advice)
