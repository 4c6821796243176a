#include "tensor/gpu/drivers.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "tensor/errors.h"
#include "tensor/gpu/simulated/simulated_driver.h"
#ifdef DTNN_WITH_CUDA
#include "tensor/gpu/cuda/cuda_driver.h"
#endif

namespace dtnn::gpu {
namespace {

constexpr char kSeedVariable[] = "DTNN_GPU_SEED";

absl::StatusOr<uint64_t> SeedOfEnvironment() {
  const char* const text = std::getenv(kSeedVariable);
  if (text == nullptr) return uint64_t{1};
  const char* const end = text + std::strlen(text);
  uint64_t seed = 0;
  const auto [parsed, error] = std::from_chars(text, end, seed);
  if (error == std::errc() && parsed == end) return seed;
  return InvalidArgument(kSeedVariable, ": ", Quoted(text),
                         " is not a whole number from 0 to 2^64-1");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Driver>> CreateDriver(DriverKind kind) {
  if (kind == DriverKind::kSimulated) {
    DTNN_ASSIGN_OR_RETURN(const uint64_t seed, SeedOfEnvironment());
    return CreateSimulatedDriver({.seed = seed});
  }
#ifdef DTNN_WITH_CUDA
  return CreateCudaDriver();
#else
  return Unimplemented(
      "this build has no GPU support, and packages have none; build the sources with "
      "--config=cuda");
#endif
}

}  // namespace dtnn::gpu
