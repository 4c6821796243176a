// The files in a plain .tar archive and where their bytes lie, so that each can be read at any time
// from any thread (read_bytes.h) without unpacking anything. Only headers are read: 512 bytes per
// member, which for an archive of a million files takes minutes on a hard disk.
//
// Names and sizes are checked as archive_reader.h says. A compressed archive has no such places and
// is refused, with what to do.

#ifndef DTNN_DATA_FILES_TAR_INDEX_H_
#define DTNN_DATA_FILES_TAR_INDEX_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace dtnn {

struct TarMember {
  std::string name;
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;
};

using VisitTarMember = absl::FunctionRef<absl::Status(const TarMember& member)>;

// Calls `visit` for every file in the archive, in order, until it answers with an error; not for
// those with a hidden name or in a hidden folder (folder_listing.h).
absl::Status IndexTar(const std::string& path, VisitTarMember visit);

// The same for an archive that is a member of another.
absl::Status IndexTarMember(const std::string& path, const TarMember& member, VisitTarMember visit);

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_TAR_INDEX_H_
