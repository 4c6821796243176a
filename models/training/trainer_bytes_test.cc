// A GPU that gets images as bytes trains and evaluates with the bits of one that gets values: in
// both formats, every type and math mode, with steps that are captured. On a simulated GPU, and on
// a real one; that is skipped, with the reason, where there is none.

#include <memory>
#include <vector>

#include "data/formats/record_file.h"
#include "data/loading/split.h"
#include "data/transforms/cutout.h"
#include "data/transforms/flip.h"
#include "data/transforms/pad_crop.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/training/trainer.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/categorical_accuracy.h"
#include "optim/optimizers/adam.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

constexpr int64_t kTrain = 37, kTest = 11;

// Images of 6 x 7 pixels in three channels, whose bytes and four classes have no pattern.
std::shared_ptr<const Dataset> Images() {
  uint32_t state = 1;
  const auto records = [&](int64_t count) {
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < count * 127; ++i) {
      state = state * 1664525 + 1013904223;
      bytes.push_back(uint8_t(state >> 24) & (i % 127 == 0 ? 3 : 255));
    }
    return LoadedFile{"records", std::move(bytes)};
  };
  const RecordFormat format = {.name = "records", .sample = {6, 7, 3}, .outputs = 4};
  return *MakeRecordDataset(format, {records(kTrain)}, {records(kTest)});
}

struct Training {
  TensorFormat format = TensorFormat::kNCHW;
  DType dtype = DType::kFloat32;
  MathMode mode = MathMode::kFp32;
  bool graphs = true;
  bool bytes = false;
};

// The losses of the epochs and of the evaluations after them, and all parameters at the end.
std::vector<double> Outcome(Device where, const Training& setup) {
  const auto device = *DeviceContext::Create(where);
  EXPECT_EQ(device->SetMathMode(setup.mode), absl::OkStatus());
  GraphBuilder b("small", setup.format);
  b.Input({6, 7, 3}).Conv2d(4, {.padding = 1}).BatchNorm().Relu();
  b.MaxPool2d({.window = 2, .stride = 2}).Flatten().Dropout(0.2).Fc(4).Softmax();
  const Graph graph = *b.Build();
  auto store = *ParameterStore::Create(graph, *device, setup.dtype, 1);
  TrainerOptions options;
  options.metric_set = {std::make_shared<CategoricalCrossEntropy>(),
                        {std::make_shared<CategoricalAccuracy>()}};
  options.optimizer = std::make_shared<Adam>();
  options.graphs = setup.graphs;
  auto trainer = *Trainer::Create(graph, *store, *device, options);
  const auto dataset = Images();
  LoaderOptions loading = {.batch = 5,  // the last one is smaller
                           .format = setup.format,
                           .dtype = setup.dtype,
                           .normalization = {{-0.5, -0.4, -0.3}, {4, 5, 6}},
                           .bytes = setup.bytes};
  auto test = *Loader::Create(dataset, Split::kTest, AllIndices(kTest), loading);
  loading.transforms = {Flip(), PadCrop({.padding = 2}),
                        Cutout({.size = 3, .fill = CutoutFill::kZero})};
  auto training = *Loader::Create(dataset, Split::kTrain, AllIndices(kTrain), loading);
  std::vector<double> outcome;
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(trainer->Train(*training, nullptr, 1, {}), absl::OkStatus());
    // Two loaders in turn, with tables of their own.
    for (Loader* loader : {test.get(), training.get()}) {
      outcome.push_back(trainer->Evaluate(*loader, {})->Value(0));
    }
  }
  EXPECT_EQ(trainer->engine().graphs().captured() > 0, setup.graphs);
  const std::vector<double> values = testing::Values(testing::Get(*device, store->all_values()));
  outcome.insert(outcome.end(), values.begin(), values.end());
  return outcome;
}

class TrainerBytesTest : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override { DTNN_GPU_OR_SKIP_AT(gpu, GetParam()); }
  void ExpectSameBits(Training setup) {
    setup.bytes = false;
    const std::vector<double> expected = Outcome(GetParam(), setup);
    setup.bytes = true;
    EXPECT_EQ(Outcome(GetParam(), setup), expected);
  }
};

TEST_P(TrainerBytesTest, BytesGiveTheBitsOfValues) {
  for (const TensorFormat format : {TensorFormat::kNCHW, TensorFormat::kNHWC}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      ExpectSameBits({.format = format, .dtype = dtype});
    }
  }
  ExpectSameBits({.graphs = false});
}

TEST_P(TrainerBytesTest, InEveryMathMode) {
  for (const MathMode mode : {MathMode::kTf32, MathMode::kBf16, MathMode::kFp16}) {
    SCOPED_TRACE(Name(mode));
    ExpectSameBits({.mode = mode});
  }
}

INSTANTIATE_TEST_SUITE_P(, TrainerBytesTest,
                         ::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                         [](const auto& info) {
                           return info.param.type == DeviceType::kCuda ? "Cuda" : "Simulated";
                         });

}  // namespace
}  // namespace dtnn
