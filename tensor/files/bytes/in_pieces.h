// Fills memory by calls that count in 32 bits, or, as libzip 1.7 for compressed members, go wrong
// beyond: each call is asked for 1 GiB at most.

#ifndef DTNN_TENSOR_FILES_BYTES_IN_PIECES_H_
#define DTNN_TENSOR_FILES_BYTES_IN_PIECES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dtnn {

inline constexpr size_t kMostInOneCall = size_t{1} << 30;

// read(piece) returns how many bytes of it were filled; 0: there are no more, negative: an error,
// either of which ends the calls. Returns that result, or 1 once all of `to` is filled.
template <typename F>
int64_t FillInPieces(std::span<std::byte> to, F read) {
  while (!to.empty()) {
    const int64_t got = read(to.first(std::min(to.size(), kMostInOneCall)));
    if (got <= 0) return got;
    to = to.subspan(size_t(got));
  }
  return 1;
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_BYTES_IN_PIECES_H_
