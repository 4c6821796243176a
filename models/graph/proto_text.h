// Messages in protobuf's text format, for files that people may read.

#ifndef DTNN_MODELS_GRAPH_PROTO_TEXT_H_
#define DTNN_MODELS_GRAPH_PROTO_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace dtnn {

// Bytes of a text. A message takes up to thirty times the memory of its text.
inline constexpr size_t kMostProtoText = size_t{1} << 23;

// Numbers keep all their bits; characters other than ASCII are escaped.
std::string ProtoText(const google::protobuf::Message& message);

// InvalidArgument with line and column for a text that is not such a message or has an unknown
// field; and for more than kMostProtoText.
absl::Status ParseProtoText(std::string_view text, google::protobuf::Message& message);

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_PROTO_TEXT_H_
