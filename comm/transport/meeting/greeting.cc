#include "comm/transport/meeting/greeting.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "tensor/status_macros.h"

namespace dtnn {

absl::Status Greeting::Break(const absl::Status& why) {
  broken = true;
  return why;
}

absl::Status Greeting::Flush() {
  out += handshake.TakeOutput();
  while (!out.empty()) {
    const std::span<const std::byte> range = std::as_bytes(std::span(out));
    const absl::StatusOr<size_t> n = stream->Write({&range, 1});
    if (!n.ok()) return Break(n.status());
    if (*n == 0) break;
    out.erase(0, *n);
  }
  return absl::OkStatus();
}

absl::Status Greeting::Advance() {
  DTNN_RETURN_IF_ERROR(Flush());
  while (handshake.wanted() > 0) {
    std::array<std::byte, 128> buffer;
    const size_t missing = handshake.wanted() - in.size();
    const absl::StatusOr<size_t> n =
        stream->Read(std::span(buffer).first(std::min(missing, buffer.size())));
    if (!n.ok()) return Break(n.status());
    if (*n == 0) break;
    in.append(reinterpret_cast<const char*>(buffer.data()), *n);
    if (in.size() < handshake.wanted()) continue;
    const absl::Status taken = handshake.Take(std::exchange(in, ""));
    DTNN_RETURN_IF_ERROR(Flush());
    DTNN_RETURN_IF_ERROR(taken);
  }
  return absl::OkStatus();
}

}  // namespace dtnn
