// Differential privacy for each sample with noise that is a function of a seed, for tests.

#ifndef DTNN_MODELS_TESTING_PRIVATE_OPTIONS_H_
#define DTNN_MODELS_TESTING_PRIVATE_OPTIONS_H_

#include <array>
#include <cstdint>
#include <memory>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "models/training/privacy/private_gradients.h"

namespace dtnn::testing {

inline constexpr double kPrivateClip = 0.5, kPrivateNoise = 0.8;

inline PrivateTraining PrivateOptions(uint8_t seed = 1) {
  std::array<uint8_t, Secret::kSize> bytes = {seed};
  return {.clip = kPrivateClip,
          .noise = kPrivateNoise,
          .random = std::make_shared<ChaCha20Stream>(*ChaCha20Stream::Create(bytes))};
}

}  // namespace dtnn::testing

#endif  // DTNN_MODELS_TESTING_PRIVATE_OPTIONS_H_
