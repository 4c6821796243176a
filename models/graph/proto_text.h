// Messages as text, in protobuf's text format, for files that people may look into.

#ifndef DTNN_MODELS_GRAPH_PROTO_TEXT_H_
#define DTNN_MODELS_GRAPH_PROTO_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace dtnn {

// Numbers come back as they are; what is not ASCII is escaped.
std::string ProtoText(const google::protobuf::Message& message);

// InvalidArgument that names line and column for what is no such message, a field that this version
// does not know included; and for more than 8 MB, as a message takes up to thirty times the memory
// of its text.
absl::Status ParseProtoText(std::string_view text, google::protobuf::Message& message);

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_PROTO_TEXT_H_
