#include "data/files/tar_index.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "data/files/archive_reader.h"
#include "data/files/folder_listing.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// What is passed over costs no memory: only the number of members bounds the work.
constexpr ArchiveLimits kLimits = {.member_bytes = uint64_t{1} << 40,
                                   .total_bytes = uint64_t{1} << 44};

bool IsHidden(std::string_view member) {
  while (!member.empty()) {
    const size_t slash = std::min(member.find('/'), member.size());
    if (IsHiddenName(member.substr(0, slash))) return true;
    member.remove_prefix(std::min(slash + 1, member.size()));
  }
  return false;
}

// `how_to_unpack`: what to do with an archive that is compressed.
absl::Status Index(std::string_view name, std::string_view how_to_unpack,
                   absl::StatusOr<ArchiveReader> opened, VisitTarMember visit) {
  DTNN_ASSIGN_OR_RETURN(ArchiveReader archive, std::move(opened));
  for (;;) {
    DTNN_ASSIGN_OR_RETURN(const bool more, archive.Next());
    if (!more) return absl::OkStatus();
    if (IsHidden(archive.member())) continue;
    if (!archive.offset().has_value()) {
      return InvalidArgument(name, ": is compressed, so it does not support random access; ",
                             how_to_unpack);
    }
    DTNN_RETURN_IF_ERROR(visit({archive.member(), *archive.offset(), archive.size()}));
  }
}

}  // namespace

absl::Status IndexTar(const std::string& path, VisitTarMember visit) {
  return Index(
      path,
      StrCat("unpack it, or decompress it to a plain .tar (for .tar.gz: `gunzip ", path, "`)"),
      ArchiveReader::Open(path, kLimits), visit);
}

absl::Status IndexTarMember(const std::string& path, const TarMember& member,
                            VisitTarMember visit) {
  return Index(StrCat(path, ": ", member.name),
               StrCat("unpack ", path,
                      ", decompress the archives in it, and pack them again (`tar "
                      "cf`, without z)"),
               ArchiveReader::OpenRange(path, member.offset, member.size, kLimits), visit);
}

}  // namespace dtnn
