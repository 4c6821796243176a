// An epoch allocates nothing, on the caller's thread and on the one that reads ahead.

#include <cstdint>
#include <memory>
#include <vector>

#include "data/formats/record_file.h"
#include "data/loading/loader.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "data/testing/every_transform.h"
#include "data/transforms/flip.h"
#include "data/transforms/pad_crop.h"
#include "gtest/gtest.h"
#include "tools/testing/count_allocations.h"

namespace dtnn {
namespace {

TEST(LoaderAllocationTest, EpochsAllocateNothing) {
  for (int prefetch : {0, 2, 3}) {
    const auto images = std::make_shared<testing::CountingDataset>(1000, ImageExtents{7, 9, 3});
    auto loader = Loader::Create(images, Split::kTrain, AllIndices(1000),
                                 {.batch = 7,
                                  .prefetch = prefetch,
                                  .threads = prefetch == 3 ? 3 : 1,
                                  .transforms = testing::EveryTransform(),
                                  .normalization = {{-0.45}, {3.75}},
                                  .mixup = 0.3})
                      .value();
    const testing::AllocationCounter counter;
    for (int64_t epoch : {0, 1, 2}) {
      int64_t steps = 0;
      loader->StartEpoch(epoch);
      while (loader->Next().value() != nullptr) ++steps;
      EXPECT_EQ(steps, 143);
    }
    EXPECT_EQ(counter.count(), 0) << "prefetch " << prefetch;
  }
}

TEST(LoaderAllocationTest, EpochsOfBytesAllocateNothing) {
  const RecordFormat format = {.name = "records", .sample = {7, 9, 3}, .outputs = 256};
  const std::shared_ptr<const Dataset> records =
      MakeRecordDataset(format, {{"records", std::vector<uint8_t>(100 * 190)}}, {}).value();
  auto loader = Loader::Create(records, Split::kTrain, AllIndices(100),
                               {.batch = 7,
                                .threads = 2,
                                .transforms = {Flip(), PadCrop({.padding = 2})},
                                .bytes = true})
                    .value();
  const testing::AllocationCounter counter;
  loader->StartEpoch(0);
  while (loader->Next().value() != nullptr) continue;
  EXPECT_EQ(counter.count(), 0);
}

TEST(LoaderAllocationTest, TheCounterCounts) {
  const testing::AllocationCounter counter;
  auto loader = Loader::Create(std::make_shared<testing::CountingDataset>(10), Split::kTrain,
                               AllIndices(10), {});
  EXPECT_GT(counter.count(), 0);
}

}  // namespace
}  // namespace dtnn
