// Files of known names that lie in a folder, in a folder inside it, or in an archive: the forms in
// which data sets are handed around. A path P may be
//
//   P/<file>, P/<folder>/<file>    the unpacked files
//   P/<archive>, P                 the archive (.tar, .tar.gz, .zip) with members <file> or
//                                  <folder>/<file>
//
// looked for in this order. Unpacked files are mapped, so that processes share their memory
// (file_bytes.h); an archive is read into memory in one pass.

#ifndef DTNN_DATA_FILES_FILE_SET_H_
#define DTNN_DATA_FILES_FILE_SET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/files/file_bytes.h"

namespace dtnn {

struct FileSet {
  std::string folder;   // "cifar-10-batches-bin"
  std::string archive;  // "cifar-10-binary.tar.gz"
  std::vector<std::string> names;
  size_t required = ~size_t{0};  // of the first names; the others may end anywhere
  std::string how_to_get;        // a sentence that ends the message when nothing is found
  uint64_t max_file_bytes = uint64_t{4} << 30;
  uint64_t max_total_bytes = uint64_t{16} << 30;  // of what an archive unpacks to
};

struct LoadedFile {
  std::string where;  // for messages: the path, of a member "<archive>: <member>"
  FileBytes bytes;
};

// In the order of the names. NotFound lists the names that were looked for, or those missing beside
// the others; ResourceExhausted for a file larger than the limits; other errors of
// archive_reader.h.
absl::StatusOr<std::vector<LoadedFile>> LoadFiles(const FileSet& set, const std::string& path);

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_FILE_SET_H_
