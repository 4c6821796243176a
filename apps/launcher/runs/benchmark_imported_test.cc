// A network that was imported from ONNX, as any other: evaluated, trained on, profiled and computed
// in 8 bits.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "data/testing/idx_files.h"
#include "data/testing/image_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/predictor.h"

namespace dtnn {
namespace {

using testing::Contents;
using ::testing::HasSubstr;
using testing::Launch;
using testing::NewFolder;
using testing::Outcome;

constexpr char kNetwork[] = "models/onnx/import/testdata/squeezenet.onnx";  // 44 x 37, of 4 classes
constexpr const char* kClasses[] = {"ant", "bee", "cat", "dog"};
constexpr int kTrain = 4, kTest = 3;  // images of each class

class BenchmarkImportedTest : public ::testing::Test {
 protected:
  BenchmarkImportedTest()
      : folder_(NewFolder(::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    int seed = 0;
    for (int64_t c = 0; c < 4; ++c) {
      for (const auto& [split, count] : {std::pair("train", kTrain), {"test", kTest}}) {
        const std::string folder = folder_ + "/" + split + "/" + kClasses[c];
        std::filesystem::create_directories(folder);
        for (int i = 0; i < count; ++i) {
          const std::string name = std::to_string(i) + ".png";
          testing::WriteFile(folder, name,
                             testing::EncodePng(44, 37, testing::SmoothPixels(44, 37, 3, ++seed)));
          if (std::string(split) == "test") tests_.emplace_back(folder + "/" + name, c);
        }
      }
    }
    const Outcome imported = Launch(
        "apps/import/import", std::string(kNetwork) + " " + model_ +
                                  " --final-activation=softmax --mean=0.5,0.4,0.3 --std=0.25");
    EXPECT_EQ(imported.exit_code, 0) << imported.text;
  }

  Outcome Benchmark(const std::string& arguments) const {
    return Launch("apps/benchmark", "--weights-and-bias-filename=" + model_ +
                                        " --dataset=folder --dataset-path=" + folder_ + " " +
                                        arguments);
  }

  // The loss of the test images, as programs that predict see them.
  double CrossEntropy(const std::string& file, const PredictorOptions& options = {}) const {
    const auto predictor = Predictor::Load(file, options);
    EXPECT_TRUE(predictor.ok()) << predictor.status();
    double sum = 0;
    for (const auto& [path, label] : tests_) {
      const auto answer = (*predictor)->Classify({path});
      EXPECT_TRUE(answer.ok()) << answer.status();
      sum -= std::log((*answer)[0].outputs[size_t(label)]);
    }
    return sum / double(tests_.size());
  }

  static double TestLoss(const std::string& text) {
    const std::string key = "test_cce: ";
    const size_t at = text.rfind(key);
    return at == text.npos ? -1 : std::strtod(text.c_str() + at + key.size(), nullptr);
  }

  const std::string folder_, model_ = folder_ + "/imported.safetensors";
  std::vector<std::pair<std::string, int64_t>> tests_;  // files and their classes
};

TEST_F(BenchmarkImportedTest, IsEvaluatedAsItPredicts) {
  const Outcome outcome = Benchmark("--evaluate-only");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_NEAR(TestLoss(outcome.text), CrossEntropy(model_), 1e-4) << outcome.text;
}

TEST_F(BenchmarkImportedTest, AStepOfTrainingChangesItAndIsProfiled) {
  const std::string tuned = folder_ + "/tuned.safetensors", profile = folder_ + "/profile.json";
  const Outcome outcome = Benchmark(
      "--num-epochs=1 --global-batch-size=16 --optimizer=sgd --learning-rate=0.05 "
      "--schedulers= --evaluate --save-model=" +
      tuned + " --profile=" + profile);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  const double before = CrossEntropy(model_), after = CrossEntropy(tuned);
  EXPECT_NE(before, after);
  EXPECT_NEAR(TestLoss(outcome.text), after, 1e-4) << outcome.text;
  // Layers under the names that the file gave them.
  EXPECT_THAT(Contents(profile), HasSubstr("features.3"));
}

TEST_F(BenchmarkImportedTest, IsQuantized) {
  const std::string quantized = folder_ + "/int8.safetensors";
  const Outcome outcome =
      Launch("apps/quantize/quantize",
             model_ + " " + quantized + " --calibrate=" + folder_ + "/train --samples=16");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
  const double exact = CrossEntropy(model_), rounded = CrossEntropy(quantized, {.int8 = true});
  EXPECT_NE(exact, rounded) << "computes in 8 bits";
  EXPECT_NEAR(exact, rounded, 0.05);
}

}  // namespace
}  // namespace dtnn
