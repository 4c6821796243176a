// Errors whose messages are put together from pieces, and errors with context before them:
//
//   return InvalidArgument(path, ": holds ", count, " values, expected ", wanted);
//   return WithContext(Decode(bytes), path);  // "path: message", or what was decoded
//
// A piece is whatever StrCat takes. Brings StrCat (text/str_cat.h) and what leaves a function early
// on an error (status_macros.h) too.

#ifndef DTNN_TENSOR_ERRORS_H_
#define DTNN_TENSOR_ERRORS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

template <typename... Pieces>
absl::Status InvalidArgument(const Pieces&... pieces) {
  return absl::InvalidArgumentError(StrCat(pieces...));
}
template <typename... Pieces>
absl::Status FailedPrecondition(const Pieces&... pieces) {
  return absl::FailedPreconditionError(StrCat(pieces...));
}
template <typename... Pieces>
absl::Status NotFound(const Pieces&... pieces) {
  return absl::NotFoundError(StrCat(pieces...));
}
template <typename... Pieces>
absl::Status DataLoss(const Pieces&... pieces) {
  return absl::DataLossError(StrCat(pieces...));
}
template <typename... Pieces>
absl::Status ResourceExhausted(const Pieces&... pieces) {
  return absl::ResourceExhaustedError(StrCat(pieces...));
}
template <typename... Pieces>
absl::Status Unimplemented(const Pieces&... pieces) {
  return absl::UnimplementedError(StrCat(pieces...));
}
template <typename... Pieces>
absl::Status Unavailable(const Pieces&... pieces) {
  return absl::UnavailableError(StrCat(pieces...));
}

// The same error, payloads included, with "context: " before its message; OK and values stay.
template <typename... Pieces>
absl::Status WithContext(const absl::Status& status, const Pieces&... context) {
  if (status.ok()) return status;
  absl::Status told(status.code(), StrCat(context..., ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { told.SetPayload(url, payload); });
  return told;
}
template <typename T, typename... Pieces>
absl::StatusOr<T> WithContext(absl::StatusOr<T> value, const Pieces&... context) {
  if (value.ok()) return value;
  return WithContext(value.status(), context...);
}

// In quotes, as it may come from any file: what is not printable is escaped, and of a long text
// only the start is shown.
inline std::string Quoted(std::string_view text, size_t most = 100) {
  return StrCat("\"", absl::CHexEscape(std::string(text.substr(0, most))),
                text.size() > most ? "..." : "", "\"");
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_ERRORS_H_
