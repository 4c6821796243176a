// What a file is by its first bytes, for messages about one that is not what it should be: a page
// of a download site was saved, a pointer of Git LFS, or a file of another format was renamed.

#ifndef DTNN_TENSOR_FILES_BYTES_KNOWN_CONTENTS_H_
#define DTNN_TENSOR_FILES_BYTES_KNOWN_CONTENTS_H_

#include <cstddef>
#include <span>
#include <string_view>

namespace dtnn {

// So many bytes are enough; fewer are fine.
inline constexpr size_t kKnownContentsBytes = 64;

// "a WebP image", with what to do in brackets where that is the same for all readers; empty where
// the bytes tell nothing.
std::string_view KnownContents(std::span<const std::byte> start);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_BYTES_KNOWN_CONTENTS_H_
