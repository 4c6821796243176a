#include "comm/federation/frame.h"

#include <utility>

#include "comm/wire/wire.h"
#include "tensor/errors.h"

namespace dtnn::federation {

std::string_view Name(FrameKind kind) {
  switch (kind) {
    case FrameKind::kHello:
      return "hello";
    case FrameKind::kReply:
      return "reply";
    case FrameKind::kUpdate:
      return "update";
    case FrameKind::kReport:
      return "report";
    case FrameKind::kDecline:
      return "decline";
    case FrameKind::kAnswer:
      return "answer";
    case FrameKind::kAsk:
      return "ask";
    case FrameKind::kIntroduce:
      return "introduction";
    case FrameKind::kProof:
      return "proof";
    case FrameKind::kSize:
      return "size";
    case FrameKind::kWelcome:
      return "welcome";
    case FrameKind::kRefusal:
      return "refusal";
    case FrameKind::kRound:
      return "round";
    case FrameKind::kParameters:
      return "parameters";
    case FrameKind::kNote:
      return "note";
    case FrameKind::kQuestion:
      return "question";
    case FrameKind::kVerdict:
      return "verdict";
    case FrameKind::kAlive:
      return "alive";
    case FrameKind::kClasses:
      return "classes";
    case FrameKind::kChallenge:
      return "challenge";
  }
  return "";
}

Bytes ToBytes(const FrameHeader& header) {
  WireWriter writer;
  writer.Number(uint8_t(header.kind));
  writer.Number(kFrameVersion);
  writer.Number(uint16_t{0});
  writer.Number(header.bytes);
  writer.Number(header.attempt);
  writer.Number(header.index);
  return std::move(writer).Take();
}

absl::StatusOr<FrameHeader> ParseFrameHeader(std::span<const uint8_t, kFrameHeaderBytes> bytes) {
  WireReader reader(bytes, "a frame's header");
  FrameHeader header;
  const uint8_t kind = reader.Number<uint8_t>(), version = reader.Number<uint8_t>();
  const uint16_t reserved = reader.Number<uint16_t>();
  header.kind = FrameKind(kind);
  header.bytes = reader.Number<uint32_t>();
  header.attempt = reader.Number<uint64_t>();
  header.index = reader.Number<uint32_t>();
  if (Name(header.kind).empty() || reserved != 0) {
    return DataLoss("these bytes are not a frame (kind ", int{kind}, ")");
  }
  if (version != kFrameVersion) {
    return FailedPrecondition("frames of version ", int{version}, ", this program has version ",
                              int{kFrameVersion}, "; start the same program on all hosts");
  }
  return header;
}

}  // namespace dtnn::federation
