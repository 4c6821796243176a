// What anybody may publish as a rank's will.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/transport/mqtt/mqtt_will.h"
#include "tensor/must.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dtnn;
  static const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  const std::span<const uint8_t> bytes(data, size);
  const std::optional<Instance> who = ReadWill(secret, bytes);
  if (!who) return 0;
  // It is read as it was written.
  const Secret token(bytes.last<Secret::kSize>());
  if (!std::ranges::equal(MakeWill(who->rank, token), bytes)) __builtin_trap();
  if (who->number != Must(NumberOf(secret, token))) __builtin_trap();
  return 0;
}
