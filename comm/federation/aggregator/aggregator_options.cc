#include "comm/federation/aggregator/aggregator_options.h"

#include "comm/federation/aggregator/compression_conflict.h"
#include "tensor/errors.h"

namespace dtnn::federation {

absl::Status AggregatorOptions::CheckInterrupt(int64_t rounds_done) const {
  if (!interrupted || !interrupted()) return absl::OkStatus();
  return absl::CancelledError(StrCat("interrupted after round ", rounds_done));
}

namespace {

// What would be the parent's to say, or cannot be passed on to it.
absl::Status CheckParent(const AggregatorOptions& options) {
  if (!options.parent) return absl::OkStatus();
  if (options.strategy.strategy != Strategy::kWavg) {
    return InvalidArgument("strategy ", Name(options.strategy.strategy),
                           " of an aggregator with a parent: the parent has the strategy");
  }
  if (options.buffer.on()) {
    return absl::InvalidArgumentError(
        "an aggregator with a parent has rounds that wait: each is one of its parent's");
  }
  if (options.protection.protection == Protection::kSharedKey) {
    return absl::InvalidArgumentError(
        "an aggregator with a parent reads the mean that it sends to it: its clients cannot share "
        "a key that it does not have");
  }
  if (options.protection.privacy.on()) {
    return absl::InvalidArgumentError(
        "differential privacy is not for an aggregator with a parent: neither of the two could "
        "count what the other's rounds reveal of a client");
  }
  if (options.model.local != Hash{}) {
    return absl::InvalidArgumentError(
        "local parameters are not for an aggregator with a parent: its clients could not learn "
        "whether the parent has used their updates");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const AggregatorOptions& options, const FederationState& state) {
  DTNN_RETURN_IF_ERROR(Validate(options.strategy));
  DTNN_RETURN_IF_ERROR(CheckParent(options));
  const bool secure = options.protection.protection == Protection::kMasked ||
                      options.protection.protection == Protection::kThreshold;
  const int most_clients = options.MostClients();
  if (options.min_clients < (secure ? 2 : 1) || options.min_clients > most_clients) {
    return InvalidArgument("a round of at least ", options.min_clients, " clients: expected ",
                           secure ? 2 : 1, " to ", most_clients);
  }
  if (options.max_connections < options.min_clients) {
    return InvalidArgument(options.max_connections,
                           " connections at most, and a round of at least ", options.min_clients,
                           " clients");
  }
  if (!(options.client_fraction > 0 && options.client_fraction <= 1)) {
    return InvalidArgument("a fraction of ", options.client_fraction,
                           " of the clients: expected more than 0, at most 1");
  }
  if (options.deadline.count() < 1 || options.timeout.count() < 1 || options.model.values < 1 ||
      options.model.trainable > options.model.values) {
    return absl::InvalidArgumentError("an aggregator needs a deadline, a timeout and a model");
  }
  DTNN_RETURN_IF_ERROR(CheckClasses(options.classes));
  if (options.protection.protection == Protection::kSharedKey && options.strategy.reads_average()) {
    return InvalidArgument("strategy ", Name(options.strategy.strategy),
                           " needs the average, which only clients can read where they share a "
                           "key");
  }
  DTNN_RETURN_IF_ERROR(CheckControls(options.strategy, options.protection,
                                     /*keeps_parameters=*/options.model.local != Hash{}));
  DTNN_RETURN_IF_ERROR(
      CheckCompression(options.compression, {.strategy = options.strategy,
                                             .protection = options.protection,
                                             .robust = options.robust.on(),
                                             .buffered = options.buffer.on(),
                                             .bounds_norms = options.max_update_norm > 0,
                                             .has_parent = bool(options.parent)}));
  if (options.max_update_norm > 0 && options.protection.protection != Protection::kNone) {
    return absl::InvalidArgumentError(
        "norms of updates cannot be limited where the aggregator cannot read updates");
  }
  DTNN_RETURN_IF_ERROR(
      CheckBuffer(options.buffer, options.strategy, options.protection, options.model));
  if (options.buffer.size > options.min_clients) {
    return InvalidArgument("a buffer of ", options.buffer.size, " updates, and rounds of at least ",
                           options.min_clients,
                           " clients: a client gives one update of the same parameters, so at "
                           "least as many clients are needed as updates");
  }
  const bool buffered = options.buffer.on();
  const int most_held = MostAsked(options.protection, options.robust.on());
  if (options.buffer.size > most_held) {
    return InvalidArgument("a buffer of ", options.buffer.size, " updates: expected ", most_held,
                           " at most, with a robust mean, which needs all of them at once");
  }
  DTNN_RETURN_IF_ERROR(CheckRobust(options.robust, options.strategy, options.protection,
                                   buffered ? options.buffer.size : options.min_clients,
                                   buffered ? options.buffer.size : most_clients));
  if (!state.from.encrypted && state.parameters.size() != options.model.values) {
    return InvalidArgument("the state has ", state.parameters.size(), " parameters, the model ",
                           options.model.values);
  }
  return absl::OkStatus();
}

}  // namespace dtnn::federation
