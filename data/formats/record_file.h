// Data sets that are files of records of one size: a label, then the sample's bytes, channel by
// channel, row by row; no header. CIFAR-10's binary form is one.
//
//   label    one byte: the class, or with several values possible the value itself; or the value
//            as a little-endian float32
//   sample   channels x height x width bytes; byte / 255 is the pixel
//
// The samples stay the bytes they are, in memory or in the mapped file (file_bytes.h); labels are
// copied.

#ifndef DTNN_DATA_FORMATS_RECORD_FILE_H_
#define DTNN_DATA_FORMATS_RECORD_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/files/file_set.h"

namespace dtnn {

struct RecordFormat {
  std::string name;  // of the data set
  ImageExtents sample = {};
  int64_t outputs = 0;
  // kClass: a byte below outputs. kValues: outputs is 1, and the label a byte unless only records
  // with a float32 fit the lengths of the files.
  TargetKind kind = TargetKind::kClass;
  std::vector<std::string> class_names = {};
};

// Takes the files of both splits; a split may have none. InvalidArgument names the file, its length
// and that of a record where it does not hold whole records or none, and the sample where a label
// is not a class or not a finite number.
absl::StatusOr<std::unique_ptr<Dataset>> MakeRecordDataset(const RecordFormat& format,
                                                           std::vector<LoadedFile> train,
                                                           std::vector<LoadedFile> test);

// Where the two splits are, usually the same place (file_set.h says what it may be). A split
// with an empty path is not read: its size is 0.
struct RecordPaths {
  std::string train, test;
};

// Finds and reads the files `train` and `test` of `set` (whose own names are not used).
// InvalidArgument when both paths are empty; else errors as above.
struct RecordSet {
  RecordFormat format = {};
  FileSet files = {};
  std::vector<std::string> train = {}, test = {};
  size_t train_required = ~size_t{0};  // of the names of `train`; the others may end anywhere
};
absl::StatusOr<std::unique_ptr<Dataset>> LoadRecordSet(const RecordSet& set,
                                                       const RecordPaths& paths);

}  // namespace dtnn

#endif  // DTNN_DATA_FORMATS_RECORD_FILE_H_
