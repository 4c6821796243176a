// Errors whose advice names an argument of a library: "images of different sizes need
// Geometry::resize". A program, which has a flag for it, puts the flag there instead. A payload
// says where the name stands, counted from the end, since context is added in front: a path or a
// key in the same message may hold the same word, and stays as its user wrote it.

#ifndef DTNN_TENSOR_NAMED_ARGUMENT_H_
#define DTNN_TENSOR_NAMED_ARGUMENT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

// `status`, whose message names this argument after everything that comes from users.
absl::Status NamingArgument(absl::Status status, std::string_view argument);

struct NamedArgument {
  std::string argument;
  size_t place = 0;  // in the message
};
// Nothing where the status names none, or has got another message since.
std::optional<NamedArgument> FindNamedArgument(const absl::Status& status);

}  // namespace dtnn

#endif  // DTNN_TENSOR_NAMED_ARGUMENT_H_
