// Which files each data set consists of, how large they are and what their MD5 sums are, as far as
// that is known, and whether they are there.

#ifndef DTNN_APPS_CHECK_DATASET_EXPECTED_FILES_H_
#define DTNN_APPS_CHECK_DATASET_EXPECTED_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace dtnn {

enum class FileState : uint8_t {
  kFound,    // with the right sum, or nothing is known to compare it with
  kUnknown,  // found, and unlike the known ones, as files of other data in this form are
  kMissing,
  kWrongSize,
  kWrongChecksum,
  kUnreadable,
};

struct FileReport {
  std::string name;
  FileState state = FileState::kFound;
  std::string detail;  // the rest of the line

  bool wrong() const { return state != FileState::kFound && state != FileState::kUnknown; }
};

struct FilesReport {
  std::vector<FileReport> files;
  std::string how_to_get;  // a sentence
};

// Looks for the files of `dataset` in `path`. Files above 1 GiB are summed only with
// `large_files`. Of data sets whose files have no fixed names the report is empty. InvalidArgument
// for an unknown data set.
absl::StatusOr<FilesReport> CheckFiles(std::string_view dataset, const std::string& path,
                                       bool large_files);

}  // namespace dtnn

#endif  // DTNN_APPS_CHECK_DATASET_EXPECTED_FILES_H_
