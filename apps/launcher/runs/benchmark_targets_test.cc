// The launcher learns from data of every kind of target: classes, labels that do not exclude each
// other, quantities. What is to be predicted is plain to see in the generated samples, so the loss
// must fall far.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tensor/tensor.h"

namespace dtnn {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using testing::NewFolder;
using ::testing::Not;
using testing::Outcome;
using testing::WriteFile;

// The training losses of a history in CSV form, whose first columns are epoch, learning_rate and
// the loss.
std::vector<double> Losses(const std::string& history) {
  std::ifstream file(history);
  std::vector<double> losses;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    const size_t comma = line.find(',', line.find(',') + 1);
    losses.push_back(std::stod(line.substr(comma + 1)));
  }
  return losses;
}

// Trains for 10 epochs; the text of the run, whose loss must have fallen to a third.
std::string Learn(const std::string& arguments) {
  const std::string history = NewFolder("learn") + "/history.csv";
  const Outcome outcome =
      testing::Launch("apps/benchmark",
                      "--model=simplemlp --batch-size=8 --num-epochs=10 --validation-split=0 "
                      "--standardize --optimizer=adam "
                      "--optimizer-beta1=0.9 --learning-rate=0.0002 --evaluate --history-file=" +
                          history + " " + arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  const std::vector<double> losses = Losses(history);
  EXPECT_EQ(losses.size(), 10u) << outcome.text;
  if (losses.size() == 10) {
    EXPECT_LT(losses.back(), losses.front() / 3) << outcome.text;
  }
  return outcome.text;
}

// Grey images with a square whose brightness is the value: tsunamis' records.
std::string WriteTsunamis() {
  const std::string folder = NewFolder("tsunamis");
  const auto write = [&](const char* name, int records) {
    Bytes bytes;
    for (int i = 0; i < records; ++i) {
      const uint8_t brightness = uint8_t(37 * i + 11);
      const float value = float(brightness) / 64 - 2;
      bytes.resize(bytes.size() + sizeof(value));
      std::memcpy(bytes.data() + bytes.size() - sizeof(value), &value, sizeof(value));
      for (int pixel = 0; pixel < 80 * 80; ++pixel) {
        bytes.push_back(pixel / 80 < 16 && pixel % 80 < 16 ? brightness : 128);
      }
    }
    WriteFile(folder, name, bytes);
  };
  write("data_batch_1.bin", 48);
  write("test_batch.bin", 8);
  return folder;
}

TEST(BenchmarkTargetsTest, LearnsQuantities) {
  const std::string data = "--dataset=tsunamis --dataset-path=" + WriteTsunamis();
  for (const char* loss : {"mse", "mae"}) {
    const std::string text = Learn(data + " --loss-func=" + loss);
    EXPECT_THAT(text, Not(HasSubstr("Softmax")));
    EXPECT_THAT(text, HasSubstr("test_mse: "));
    EXPECT_THAT(text, HasSubstr("test_mae: "));
  }
}

// The second class is bright in its last channel.
std::string WriteCyclone() {
  const std::string folder = NewFolder("cyclone");
  const auto write = [&](const std::string& name, int records) {
    Bytes bytes;
    for (int i = 0; i < records; ++i) {
      const bool second = i % 3 == 0;
      bytes.push_back(second ? 1 : 0);
      Bytes pixels = testing::Elements(5 * 40 * 40);
      std::fill(pixels.begin() + 4 * 40 * 40, pixels.end(), second ? 200 + i : 50 + i);
      bytes.insert(bytes.end(), pixels.begin(), pixels.end());
    }
    WriteFile(folder, name, bytes);
  };
  for (int i = 1; i <= 5; ++i) write("data_batch_" + std::to_string(i) + ".bin", 12);
  write("test_batch.bin", 8);
  return folder;
}

TEST(BenchmarkTargetsTest, LearnsTwoClasses) {
  const std::string data = "--dataset=cyclone --dataset-path=" + WriteCyclone();
  EXPECT_THAT(Learn(data), HasSubstr("Softmax"));
  const std::string text = Learn(data + " --loss-func=binary_cross_entropy");
  EXPECT_THAT(text, HasSubstr("Sigmoid"));
  EXPECT_THAT(text, HasSubstr("test_acc: 100.00%"));
}

TEST(BenchmarkTargetsTest, RareClassesCanCountAsMuchAsOthers) {
  const std::string data = "--dataset=cyclone --dataset-path=" + WriteCyclone();
  EXPECT_THAT(Learn(data + " --class-weights=balanced"),
              HasSubstr("**** Class weights: 0.75 (class "));
  const Outcome refused =
      testing::Launch("apps/benchmark", "--model=simplemlp --class-weights=1 " + data);
  EXPECT_EQ(refused.exit_code, 2) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("--class-weights: has 1 weight, but cyclone has 2 classes"));
}

// A label for each quarter of the image that is bright.
std::string WriteLabels() {
  constexpr int64_t kSamples = 96, kSide = 8;
  const Tensor x = Tensor::Zeros(DType::kFloat32, Shape{kSamples, 1, kSide, kSide}).value();
  const Tensor y = Tensor::Zeros(DType::kFloat32, Shape{kSamples, 4}).value();
  for (int64_t i = 0; i < kSamples; ++i) {
    for (int64_t quarter = 0; quarter < 4; ++quarter) {
      const bool bright = (i >> quarter) % 2 == 1;
      y.data<float>()[4 * i + quarter] = bright ? 1 : 0;
      for (int64_t pixel = 0; pixel < 16; ++pixel) {
        const int64_t row = quarter / 2 * 4 + pixel / 4, column = quarter % 2 * 4 + pixel % 4;
        x.data<float>()[(i * kSide + row) * kSide + column] = bright ? 0.9f : 0.1f;
      }
    }
  }
  const std::string path = NewFolder("labels") + "/labels.npz";
  EXPECT_TRUE(WriteNpz(path, {{"x_train", x}, {"y_train", y}, {"x_test", x}, {"y_test", y}}).ok());
  return path;
}

// The page of a run of one epoch, which makes mistakes.
std::string PageOf(const std::string& data) {
  const std::string page = NewFolder("page") + "/run.html";
  const Outcome outcome = testing::Launch(
      "apps/benchmark",
      "--model=simplemlp --batch-size=8 --validation-split=0.25 --report=" + page + " " + data);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  std::ifstream file(page);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(BenchmarkTargetsTest, ThePageShowsMistakesOfEachKind) {
  const std::string quantities = PageOf("--dataset=tsunamis --dataset-path=" + WriteTsunamis() +
                                        " --loss-func=mse --learning-rate=1e-6");
  EXPECT_THAT(quantities, HasSubstr("Largest deviations, in the last validation"));
  EXPECT_THAT(quantities, ::testing::ContainsRegex("predicted [^,]*, is [^(]* .off by "));
  EXPECT_THAT(quantities, HasSubstr("src=\"data:image/png;base64,"));
  const std::string labels = PageOf("--dataset=archive --dataset-path=" + WriteLabels() +
                                    " --loss-func=binary_cross_entropy --learning-rate=1e-6");
  EXPECT_THAT(labels, HasSubstr("Most wrong labels, in the last validation"));
  EXPECT_THAT(labels, HasSubstr(" of 4 labels wrong: "));
}

TEST(BenchmarkTargetsTest, LearnsLabelsThatDoNotExcludeEachOther) {
  const std::string data = "--dataset=archive --dataset-path=" + WriteLabels() + " ";
  const std::string text = Learn(data + "--loss-func=binary_cross_entropy");
  EXPECT_THAT(text, HasSubstr("Sigmoid"));
  EXPECT_THAT(text, HasSubstr("metrics                        : binary_accuracy,f1_score\n"));
  EXPECT_THAT(text, HasSubstr("test_acc: 100.00%, test_f1: 1.0000"));

  // What does not fit is refused with what would.
  const auto refusal = [&](const std::string& more) {
    const Outcome outcome =
        testing::Launch("apps/benchmark", "--model=simplemlp " + data + more + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.text;
  };
  EXPECT_THAT(refusal(""), HasSubstr("binary_cross_entropy is for labels that are 0 or 1"));
  EXPECT_THAT(refusal("--loss-func=mse --metrics=categorical_accuracy"),
              HasSubstr("--metrics: categorical_accuracy does not fit data set archive"));
}

}  // namespace
}  // namespace dtnn
