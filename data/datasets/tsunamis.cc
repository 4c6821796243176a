#include "data/datasets/tsunamis.h"

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr int kMaxBatches = 99;

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> LoadTsunamis(const RecordPaths& paths) {
  RecordSet set;
  set.format = {.name = "tsunamis",
                .sample = {.height = 80, .width = 80, .channels = 1},
                .outputs = 1,
                .kind = TargetKind::kValues};
  set.files.folder = "tsunamis-batches-bin";
  set.files.archive = "tsunamis-binary.tar.gz";
  set.train_required = 1;
  set.files.how_to_get =
      "This data set is not public; any files of these names with records of a value and 80 x 80 "
      "bytes can be read, or an .npz file as data set archive";
  for (int i = 1; i <= kMaxBatches; ++i) {
    set.train.push_back(StrCat("data_batch_", i, ".bin"));
  }
  set.test = {"test_batch.bin"};
  return LoadRecordSet(set, paths);
}

}  // namespace dtnn
