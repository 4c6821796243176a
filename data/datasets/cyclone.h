// Cyclone detection: two classes of weather fields, 5 x 40 x 40, in records (record_file.h) of one
// label byte and 8000 bytes.
//
//   data_batch_1.bin .. data_batch_5.bin   10000 records each: training
//   test_batch.bin                         10000 records
//
// A path is a folder with these files, one with `cyclone-batches-bin/` or with
// `cyclone-binary.tar.gz`, or that archive itself (file_set.h).

#ifndef DTNN_DATA_DATASETS_CYCLONE_H_
#define DTNN_DATA_DATASETS_CYCLONE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/formats/record_file.h"

namespace dtnn {

// Opens the files; unpacked ones are mapped. NotFound lists the names that were looked for and how
// to get them; other errors as in record_file.h and file_set.h.
absl::StatusOr<std::unique_ptr<Dataset>> LoadCyclone(const RecordPaths& paths);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_CYCLONE_H_
