#include "models/run/testing/run_fixture.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tensor/files/array_file.h"

namespace dtnn {

std::shared_ptr<const Dataset> Patterns(int64_t side, int64_t channels, const Geometry& geometry) {
  return Must(OpenDataset(
      "synthetic", {.geometry = geometry,
                    .synthetic = {.train_samples = 120,
                                  .test_samples = 40,
                                  .sample = {.height = side, .width = side, .channels = channels},
                                  .classes = 3,
                                  .pattern = SyntheticPattern::kClasses,
                                  .seed = 3}}));
}

Network Small(const Dataset& data) {
  Network net("small");
  return net.Input(data).Conv2d(4, {.padding = 1}).Relu().Flatten().Fc(data.outputs()).Softmax();
}

RunOptions Short(int64_t epochs) {
  return {.training = {.batch = 20, .epochs = epochs, .evaluate = true},
          .optimizer = {.name = "adam", .learning_rate = 0.01},
          .schedule = {.schedulers = {}}};
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

RunFixture::RunFixture()
    : folder_(::testing::TempDir() +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_);
}

std::string RunFixture::Read(const std::string& name) const {
  std::ifstream in(In(name));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

SavedModel RunFixture::Model(const std::string& name) const {
  ArrayFileReader file = Must(ArrayFileReader::Open(In(name)));
  return Must(ReadModel(file));
}

std::vector<float> Parameters(TrainingRun& run) {
  const Tensor& all = run.store().all_values();
  return {all.data<float>(), all.data<float>() + all.num_elements()};
}

}  // namespace dtnn
