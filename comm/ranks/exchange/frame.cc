#include "comm/ranks/exchange/frame.h"

#include <cstring>
#include <type_traits>

#include "comm/ranks/group/control_message.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

static_assert(std::has_unique_object_representations_v<FrameHeader>);

size_t MostPayload(FrameHeader::Kind kind, int ranks) {
  switch (kind) {
    case FrameHeader::Kind::kGrant:
      return 0;
    case FrameHeader::Kind::kData:
      return kMostFrameBytes;
    case FrameHeader::Kind::kControl:
      return MaxControlBytes(ranks);
  }
  return 0;
}

}  // namespace

absl::StatusOr<FrameHeader> ReadFrameHeader(std::string_view bytes, int ranks) {
  FrameHeader header;
  if (bytes.size() != sizeof(header)) return InvalidArgument("a frame's header is incomplete");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.kind < FrameHeader::Kind::kGrant || header.kind > FrameHeader::Kind::kControl) {
    return InvalidArgument("a frame of unknown kind ", uint32_t(header.kind));
  }
  if (header.payload > MostPayload(header.kind, ranks)) {
    return InvalidArgument("a frame of ", header.payload, " bytes, at most ",
                           MostPayload(header.kind, ranks), " are allowed");
  }
  const bool empty = header.kind != FrameHeader::Kind::kGrant && header.payload == 0;
  if (empty || header.bytes < 0) return InvalidArgument("a frame that says nothing");
  return header;
}

}  // namespace dtnn
