// The version of DTNN, which stands in tools/version.bzl.

#ifndef DTNN_TENSOR_TEXT_VERSION_H_
#define DTNN_TENSOR_TEXT_VERSION_H_

#include <string_view>

namespace dtnn {

std::string_view Version();  // "0.1.0"; a NUL follows

}  // namespace dtnn

#endif  // DTNN_TENSOR_TEXT_VERSION_H_
