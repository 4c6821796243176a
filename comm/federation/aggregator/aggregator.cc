#include "comm/federation/aggregator/aggregator.h"

#include <utility>

#include "comm/federation/aggregator/buffer/buffered_rounds.h"
#include "comm/federation/aggregator/rounds.h"
#include "tensor/errors.h"

namespace dtnn::federation {

absl::Status RunAggregator(const AggregatorOptions& options, const JobSecret& secret,
                           FederationState& state) {
  DTNN_RETURN_IF_ERROR(Validate(options, state));
  DTNN_ASSIGN_OR_RETURN(
      Protector protector,
      Protector::Create(options.protection,
                        ValuesOfUpdate(options.model, options.strategy.controls())));
  if (state.from.encrypted &&
      state.encrypted.size() != protector.chunks(size_t(options.model.values))) {
    return InvalidArgument("the state has ", state.encrypted.size(), " encrypted chunks, expected ",
                           protector.chunks(size_t(options.model.values)));
  }
  const auto run = [](auto rounds) -> absl::Status {
    DTNN_RETURN_IF_ERROR(rounds.Open());
    return rounds.Run();
  };
  if (options.buffer.on()) {
    return run(BufferedRounds(options, secret, std::move(protector), state));
  }
  return run(Rounds(options, secret, std::move(protector), state));
}

}  // namespace dtnn::federation
