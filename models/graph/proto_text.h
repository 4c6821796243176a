// Messages in protobuf's text format, for files that people may read.

#ifndef DTNN_MODELS_GRAPH_PROTO_TEXT_H_
#define DTNN_MODELS_GRAPH_PROTO_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace dtnn {

// Numbers keep all their bits; characters other than ASCII are escaped.
std::string ProtoText(const google::protobuf::Message& message);

// InvalidArgument with line and column for a text that is not such a message or has an unknown
// field; and for more than 8 MB, because a message takes up to thirty times the memory of its text.
absl::Status ParseProtoText(std::string_view text, google::protobuf::Message& message);

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_PROTO_TEXT_H_
