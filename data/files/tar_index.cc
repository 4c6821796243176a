#include "data/files/tar_index.h"

#include <utility>

#include "absl/status/statusor.h"
#include "data/files/archive_reader.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// What is passed over costs no memory: only the number of members bounds the work.
constexpr ArchiveLimits kLimits = {.member_bytes = uint64_t{1} << 40,
                                   .total_bytes = uint64_t{1} << 44};

absl::Status Index(const std::string& path, absl::StatusOr<ArchiveReader> opened,
                   VisitTarMember visit) {
  DTNN_ASSIGN_OR_RETURN(ArchiveReader archive, std::move(opened));
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const bool more, archive.Next());
    if (!more) return absl::OkStatus();
    if (!archive.offset().has_value()) {
      return InvalidArgument(path,
                             ": is compressed, so it does not support random access; unpack it, or "
                             "decompress it to a plain .tar (for .tar.gz: `gunzip ",
                             path, "`)");
    }
    DTNN_RETURN_IF_ERROR(visit({archive.member(), *archive.offset(), archive.size()}));
  }
}

}  // namespace

absl::Status IndexTar(const std::string& path, VisitTarMember visit) {
  return Index(path, ArchiveReader::Open(path, kLimits), visit);
}

absl::Status IndexTarRange(const std::string& path, uint64_t offset, uint64_t size,
                           VisitTarMember visit) {
  return Index(path, ArchiveReader::OpenRange(path, offset, size, kLimits), visit);
}

}  // namespace dtnn
