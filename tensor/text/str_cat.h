// absl::StrCat and StrAppend for std::string_view too, which some builds of Abseil tell from their
// own.

#ifndef DTNN_TENSOR_TEXT_STR_CAT_H_
#define DTNN_TENSOR_TEXT_STR_CAT_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace dtnn {
namespace internal {

template <typename T>
const T& Piece(const T& piece) {
  return piece;
}
inline absl::string_view Piece(std::string_view piece) { return {piece.data(), piece.size()}; }

}  // namespace internal

template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  return absl::StrCat(internal::Piece(pieces)...);
}

template <typename... Pieces>
void StrAppend(std::string* text, const Pieces&... pieces) {
  absl::StrAppend(text, internal::Piece(pieces)...);
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_STR_CAT_H_
