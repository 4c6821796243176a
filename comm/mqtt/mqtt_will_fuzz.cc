// What anybody may publish as a rank's will.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/mqtt/mqtt_will.h"
#include "tensor/must.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dtnn;
  static const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  const std::span<const uint8_t> bytes(data, size);
  const std::optional<Instance> who = ReadWill(secret, bytes);
  // Only what a rank of the job writes is read, and as it was written.
  if (who && !std::ranges::equal(Must(MakeWill(secret, *who)), bytes)) __builtin_trap();
  return 0;
}
