"""
Every name that spans, metrics and events carry, once.

Those of OpenTelemetry are of the GenAI semantic conventions v0.1.0; the names of v1.41 that dashboards still ask for
stand at the end. What the conventions have no name for begins with "deepseek_sdk.".
"""

from __future__ import annotations

__all__ = [
    "ACTIVE",
    "ATTEMPT",
    "ATTEMPTS",
    "ATTEMPT_BILLED",
    "ATTEMPT_NUMBER",
    "ATTEMPT_OUTCOME",
    "ATTEMPT_REASON",
    "BUDGET",
    "BUDGET_NAME",
    "CACHE_AGE",
    "CACHE_LEVEL",
    "CACHE_LOOKUPS",
    "CACHE_OUTCOME",
    "CACHE_READ_TOKENS",
    "CACHE_SIMILARITY",
    "CACHE_SOURCE",
    "CHOICE_COUNT",
    "CIRCUIT",
    "CIRCUIT_STATE",
    "COMPACTED",
    "CONVERSATION",
    "COST",
    "COST_AMOUNT",
    "COST_CNY",
    "COST_COMPONENT",
    "COST_CURRENCY",
    "COST_ESTIMATED",
    "COST_HIT",
    "COST_IN",
    "COST_MISS",
    "COST_OUTPUT",
    "COST_PART_CURRENCY",
    "COST_SOURCE",
    "COST_USD",
    "DEGRADATION",
    "DETAILS_EVENT",
    "DURATION",
    "ERROR_TYPE",
    "EXCEPTION_EVENT",
    "EXCEPTION_MESSAGE",
    "EXCEPTION_STACKTRACE",
    "EXCEPTION_TYPE",
    "FINISH_REASONS",
    "FIRST_TOKEN_STAGE",
    "FIRST_TOKEN_TIMEOUTS",
    "FREQUENCY_PENALTY",
    "INPUT_MESSAGES",
    "INPUT_TOKENS",
    "IS_STREAM",
    "LIMIT_CURRENT",
    "LIMIT_USED",
    "LOOKUP_LEVEL",
    "LOOKUP_OUTCOME",
    "MAX_TOKENS",
    "MISS_TOKENS",
    "MODALITY",
    "MODEL",
    "OLD_CHUNK_TIME",
    "OLD_DURATION",
    "OLD_FIRST_CHUNK",
    "OLD_SYSTEM",
    "OLD_TOKENS",
    "OLD_TOKEN_TYPE",
    "OPERATION",
    "OPERATION_INPUT_TOKENS",
    "OPERATION_OUTPUT_TOKENS",
    "OUTPUT_MESSAGES",
    "OUTPUT_TOKENS",
    "OUTPUT_TYPE",
    "PRESENCE_PENALTY",
    "PRICE_TIER",
    "PRICE_VERSION",
    "PROMPT_NAME",
    "PROVIDER",
    "QUALITY",
    "QUALITY_KIND",
    "REASONING",
    "REASONING_LEVEL",
    "REASONING_TOKENS",
    "REPAIRS",
    "REQUEST",
    "REQUEST_ID",
    "REQUEST_MODEL",
    "RESPONSE_ID",
    "RESPONSE_MODEL",
    "RETRY_DELAY",
    "ROUTE",
    "ROUTING_BAND",
    "SAVED",
    "SAVED_CNY",
    "SAVED_USD",
    "SEED",
    "SERVER_ADDRESS",
    "SERVER_PORT",
    "SESSION",
    "SESSION_HASH",
    "SKIPPED",
    "STOP_SEQUENCES",
    "STREAMS",
    "STREAM_OUTCOME",
    "TAGS",
    "TEMPERATURE",
    "TENANT",
    "TENANT_HASH",
    "TIME_PER_CHUNK",
    "TIME_TO_FIRST_ANSWER",
    "TIME_TO_FIRST_CHUNK",
    "TIME_TO_FIRST_CHUNK_METRIC",
    "TIME_TO_FIRST_TOKEN",
    "TOOL_DEFINITIONS",
    "TOP_P",
    "TOTAL_CACHE_READ",
    "TOTAL_INPUT",
    "TOTAL_OUTPUT",
    "TOTAL_REASONING",
    "TRUNCATED",
    "USAGE_CACHE_READ",
    "USAGE_INPUT",
    "USAGE_OUTPUT",
    "USAGE_REASONING",
    "USER",
    "USER_HASH",
]

# Spans. That of an inference is called after its operation and its model: "chat deepseek-flash".
REQUEST = "deepseek_sdk.request"
ATTEMPT = "deepseek_sdk.attempt"

# Attributes of an inference; those up to SERVER_PORT are known when its span starts, so samplers see them.
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
SERVER_ADDRESS = "server.address"
SERVER_PORT = "server.port"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
TIME_TO_FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
ERROR_TYPE = "error.type"
CONVERSATION = "gen_ai.conversation.id"
COMPACTED = "gen_ai.conversation.compacted"
IS_STREAM = "gen_ai.request.stream"
MAX_TOKENS = "gen_ai.request.max_tokens"
TEMPERATURE = "gen_ai.request.temperature"
TOP_P = "gen_ai.request.top_p"
FREQUENCY_PENALTY = "gen_ai.request.frequency_penalty"
PRESENCE_PENALTY = "gen_ai.request.presence_penalty"
STOP_SEQUENCES = "gen_ai.request.stop_sequences"
SEED = "gen_ai.request.seed"
CHOICE_COUNT = "gen_ai.request.choice.count"
REASONING_LEVEL = "gen_ai.request.reasoning.level"
OUTPUT_TYPE = "gen_ai.output.type"
PROMPT_NAME = "gen_ai.prompt.name"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS = "gen_ai.usage.reasoning.output_tokens"
MISS_TOKENS = "deepseek_sdk.usage.cache_miss.input_tokens"

# What it costs: the shape of the proposed gen_ai.usage.cost, and both currencies beside it.
COST_AMOUNT = "gen_ai.usage.cost.amount"
COST_CURRENCY = "gen_ai.usage.cost.currency"
COST_SOURCE = "gen_ai.usage.cost.source"
COST_CNY = "deepseek_sdk.cost.cny"
COST_USD = "deepseek_sdk.cost.usd"
COST_HIT = "deepseek_sdk.cost.cache_hit_input"
COST_MISS = "deepseek_sdk.cost.cache_miss_input"
COST_OUTPUT = "deepseek_sdk.cost.output"
COST_PART_CURRENCY = "deepseek_sdk.cost.currency"
COST_ESTIMATED = "deepseek_sdk.cost.estimated"
PRICE_VERSION = "deepseek_sdk.cost.price_version"
PRICE_TIER = "deepseek_sdk.cost.price_tier"

# Whose call it is: on spans only.
REQUEST_ID = "deepseek_sdk.request.id"
USER = "user.id"
USER_HASH = "user.hash"
SESSION = "session.id"
SESSION_HASH = "deepseek_sdk.session.hash"
TENANT = "deepseek_sdk.tenant"
TENANT_HASH = "deepseek_sdk.tenant.hash"
TAGS = "deepseek_sdk.tags."

# What a call went through.
TIME_TO_FIRST_TOKEN = "deepseek_sdk.time_to_first_token"  # noqa: S105  no secret
TIME_TO_FIRST_ANSWER = "deepseek_sdk.time_to_first_answer"
ROUTE = "deepseek_sdk.route"
ROUTING_BAND = "deepseek_sdk.routing.band"
SKIPPED = "deepseek_sdk.skipped_routes"
DEGRADATION = "deepseek_sdk.degradation"
REPAIRS = "deepseek_sdk.repairs"
TRUNCATED = "deepseek_sdk.truncated"
STREAM_OUTCOME = "deepseek_sdk.stream.outcome"
TOTAL_INPUT = "deepseek_sdk.total.input_tokens"
TOTAL_OUTPUT = "deepseek_sdk.total.output_tokens"
TOTAL_CACHE_READ = "deepseek_sdk.total.cache_read_tokens"
TOTAL_REASONING = "deepseek_sdk.total.reasoning_tokens"
CACHE_OUTCOME = "deepseek_sdk.cache.outcome"
CACHE_LEVEL = "deepseek_sdk.cache.level"
CACHE_SOURCE = "deepseek_sdk.cache.source"
CACHE_SIMILARITY = "deepseek_sdk.cache.similarity"
CACHE_AGE = "deepseek_sdk.cache.age"
SAVED_CNY = "deepseek_sdk.cost.saved.cny"
SAVED_USD = "deepseek_sdk.cost.saved.usd"
ATTEMPT_NUMBER = "deepseek_sdk.attempt.number"
ATTEMPT_OUTCOME = "deepseek_sdk.attempt.outcome"
ATTEMPT_REASON = "deepseek_sdk.attempt.reason"
ATTEMPT_BILLED = "deepseek_sdk.attempt.possibly_billed"

# What was said: nowhere unless asked for.
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
EXCEPTION_STACKTRACE = "exception.stacktrace"

# Events.
DETAILS_EVENT = "gen_ai.client.inference.operation.details"
EXCEPTION_EVENT = "gen_ai.client.inference.exception"

# Metrics.
DURATION = "gen_ai.client.inference.duration"
TIME_TO_FIRST_CHUNK_METRIC = "gen_ai.client.inference.time_to_first_chunk"
TIME_PER_CHUNK = "gen_ai.client.inference.time_per_output_chunk"
USAGE_INPUT = "gen_ai.client.inference.usage.input_tokens"
USAGE_OUTPUT = "gen_ai.client.inference.usage.output_tokens"
USAGE_CACHE_READ = "gen_ai.client.inference.usage.cache_read.input_tokens"
USAGE_REASONING = "gen_ai.client.inference.usage.reasoning.output_tokens"
OPERATION_INPUT_TOKENS = "gen_ai.client.inference.operation.input_tokens"
OPERATION_OUTPUT_TOKENS = "gen_ai.client.inference.operation.output_tokens"
COST = "deepseek_sdk.cost"
SAVED = "deepseek_sdk.cost.saved"
CACHE_LOOKUPS = "deepseek_sdk.cache.lookups"
ATTEMPTS = "deepseek_sdk.attempts"
RETRY_DELAY = "deepseek_sdk.retry.delay"
STREAMS = "deepseek_sdk.stream.requests"
FIRST_TOKEN_TIMEOUTS = "deepseek_sdk.first_token.timeouts"  # noqa: S105  no secret
ACTIVE = "deepseek_sdk.requests.active"
CIRCUIT = "deepseek_sdk.circuit.state"
LIMIT_USED = "deepseek_sdk.concurrency.limit.used"
LIMIT_CURRENT = "deepseek_sdk.concurrency.limit.current"
BUDGET = "deepseek_sdk.budget.remaining"
QUALITY = "deepseek_sdk.quality.events"

# Attributes of metrics alone.
MODALITY = "gen_ai.token.modality"
COST_COMPONENT = "component"
COST_IN = "currency"
MODEL = "model"
REASONING = "reasoning"
FIRST_TOKEN_STAGE = "stage"  # noqa: S105  no secret
QUALITY_KIND = "kind"
LOOKUP_LEVEL = "cache.level"
LOOKUP_OUTCOME = "cache.outcome"
CIRCUIT_STATE = "state"
BUDGET_NAME = "budget"

# The names of v1.41.
OLD_SYSTEM = "gen_ai.system"
OLD_DURATION = "gen_ai.client.operation.duration"
OLD_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk"
OLD_CHUNK_TIME = "gen_ai.client.operation.time_per_output_chunk"
OLD_TOKENS = "gen_ai.client.token.usage"
OLD_TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105  no secret
