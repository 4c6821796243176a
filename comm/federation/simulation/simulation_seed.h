// The random numbers of a simulation: functions of its seed, of the attempt and of the client, so
// that they are the same on any number of threads. Of a real federation they are secrets.

#ifndef DTNN_COMM_FEDERATION_SIMULATION_SIMULATION_SEED_H_
#define DTNN_COMM_FEDERATION_SIMULATION_SIMULATION_SEED_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/secrets/crypto/wiped.h"

namespace dtnn::federation {

class SimulationSeed {
 public:
  static constexpr std::string_view kDropOut = "DTNN simulation: drop-outs";
  static constexpr std::string_view kSeconds = "DTNN simulation: seconds of clients";
  static constexpr std::string_view kNoise = "DTNN simulation: noise";

  static absl::StatusOr<SimulationSeed> Of(uint64_t seed);

  // ChoiceOptions::seed.
  const Secret& choice() const { return choice_; }
  absl::StatusOr<ChaCha20Stream> Stream(std::string_view purpose, uint64_t attempt,
                                        uint64_t client = 0) const;

 private:
  Secret seed_, choice_;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_SIMULATION_SIMULATION_SEED_H_
