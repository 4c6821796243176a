#include "comm/transport/tcp/stream_wait.h"

#include "tensor/errors.h"

namespace dtnn {

absl::Status StreamWait::Poll(std::span<pollfd> descriptors, Wait::Clock::time_point until,
                              const std::string& what) {
  const auto text = [&]() -> Wait::Text {
    const std::string refused = refused_();
    return {.who = who_,
            .what = what,
            .trouble = refused.empty() ? "" : StrCat("refused: ", refused),
            .advice =
                "is it running, with the same address and port, and does no firewall stop "
                "it?"};
  };
  const auto ready = [&](Wait::Clock::time_point end) { return PollUntil(descriptors, end); };
  return wait_.Until(until, text, ready).status();
}

absl::Status StreamWait::Write(Stream& stream, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const std::span<const std::byte> range = std::as_bytes(std::span(bytes));
    DTNN_ASSIGN_OR_RETURN(const size_t n, stream.Write({&range, 1}));
    bytes.remove_prefix(n);
    if (n > 0) continue;
    pollfd descriptor = {stream.descriptor(), POLLIN | POLLOUT, 0};
    DTNN_RETURN_IF_ERROR(Poll({&descriptor, 1}, Wait::Clock::time_point::max(), what));
  }
  return absl::OkStatus();
}

absl::Status StreamWait::Read(Stream& stream, std::span<std::byte> bytes, const std::string& what) {
  while (!bytes.empty()) {
    DTNN_ASSIGN_OR_RETURN(const size_t n, stream.Read(bytes));
    bytes = bytes.subspan(n);
    if (n > 0) continue;
    pollfd descriptor = {stream.descriptor(), POLLIN, 0};
    DTNN_RETURN_IF_ERROR(Poll({&descriptor, 1}, Wait::Clock::time_point::max(), what));
  }
  return absl::OkStatus();
}

}  // namespace dtnn
