// How many parts the bytes of an ONNX message have, before memory is allocated for them: a part may
// take a hundred times its bytes.

#ifndef DTNN_MODELS_ONNX_FILE_MESSAGE_PARTS_H_
#define DTNN_MODELS_ONNX_FILE_MESSAGE_PARTS_H_

#include <cstdint>
#include <string_view>

namespace dtnn {

// The fields of a ModelProto and of all messages in it, as far as they can be read; counts to
// `most` + 1 at most. Cost: a walk over the fields, which skips the bytes of tensors.
int64_t CountMessageParts(std::string_view bytes, int64_t most);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_FILE_MESSAGE_PARTS_H_
