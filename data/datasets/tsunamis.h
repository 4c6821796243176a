// Tsunamis: fields of 1 x 80 x 80 and one real output each, a regression (metrics mse, mae), in
// records (record_file.h): the value, then 6400 bytes. The value is one byte, taken as it is, or a
// little-endian float32 where only that fits the lengths of the files.
//
//   data_batch_1.bin, data_batch_2.bin, ...   training, as many as there are, up to 99
//   test_batch.bin
//
// A path is a folder with these files, one with `tsunamis-batches-bin/` or with
// `tsunamis-binary.tar.gz`, or that archive itself (file_set.h). Data of another form are better
// kept in an .npz file (npz_dataset.h), which says itself what it holds.

#ifndef DTNN_DATA_DATASETS_TSUNAMIS_H_
#define DTNN_DATA_DATASETS_TSUNAMIS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "data/formats/record_file.h"

namespace dtnn {

// Opens the files; unpacked ones are mapped. NotFound lists the names that were looked for and how
// to get them; other errors as in record_file.h and file_set.h.
absl::StatusOr<std::unique_ptr<Dataset>> LoadTsunamis(const RecordPaths& paths);

}  // namespace dtnn

#endif  // DTNN_DATA_DATASETS_TSUNAMIS_H_
