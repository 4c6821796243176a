// What anybody may send through a third party: bytes that are not packets, and packets that are not
// sealed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/transport/relay/relay_link.h"
#include "tensor/must.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dtnn;
  static const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  size_t answers = 0;
  RelayLink link(
      {.peer = 1, .size = 2, .card = {.instance = {0, 1}}, .window = 1 << 20}, secret,
      [&](const std::string& bytes) { answers += bytes.size(); }, [] {});
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (size_t begin = 0; begin <= size; begin += 64) {
    const std::optional<Packet> packet = ReadPacket(bytes.substr(begin), 0);
    if (packet) link.Take(*packet);
  }
  if (link.established()) __builtin_trap();
  if (answers > 32 * (size / 64 + 1)) __builtin_trap();  // less than was asked
  return 0;
}
