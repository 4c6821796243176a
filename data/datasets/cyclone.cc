#include "data/datasets/cyclone.h"

#include "tensor/text/str_cat.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<Dataset>> LoadCyclone(const RecordPaths& paths) {
  RecordSet set;
  set.format = {
      .name = "cyclone", .sample = {.height = 40, .width = 40, .channels = 5}, .outputs = 2};
  set.files.folder = "cyclone-batches-bin";
  set.files.archive = "cyclone-binary.tar.gz";
  set.files.how_to_get =
      "This data set is not public; any files of these names with records of a label byte and 5 x "
      "40 x 40 bytes can be read";
  for (const char* digit : {"1", "2", "3", "4", "5"}) {
    set.train.push_back(StrCat("data_batch_", digit, ".bin"));
  }
  set.test = {"test_batch.bin"};
  return LoadRecordSet(set, paths);
}

}  // namespace dtnn
