#include "comm/federation/simulation/simulation_seed.h"

#include <array>

#include "comm/secrets/crypto/hash.h"
#include "comm/wire/wire.h"
#include "tensor/status_macros.h"

namespace dtnn::federation {

absl::StatusOr<SimulationSeed> SimulationSeed::Of(uint64_t seed) {
  SimulationSeed made;
  StoreLittleEndian(seed, made.seed_.bytes().data());
  DTNN_ASSIGN_OR_RETURN(made.choice_, DeriveSecret(made.seed_, "DTNN simulation: choice"));
  return made;
}

absl::StatusOr<ChaCha20Stream> SimulationSeed::Stream(std::string_view purpose, uint64_t attempt,
                                                      uint64_t client) const {
  std::array<uint8_t, sizeof(attempt)> context{};
  StoreLittleEndian(attempt, context.data());
  DTNN_ASSIGN_OR_RETURN(const Secret key, DeriveSecret(seed_, purpose, context));
  return ChaCha20Stream::Create(key.bytes(), client);
}

}  // namespace dtnn::federation
