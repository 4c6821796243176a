// DTNN as a library: answers with a model that the launcher has trained and saved, and links
// neither trainer nor optimizers nor MPI.
//
//   bazel run //apps:benchmark -- --model=simplecnn --dataset=mnist
//   --save-model=/tmp/mine.safetensors bazel run //examples/predict:answer -- /tmp/mine.safetensors
//   /tmp/shoe.png

#include <cstdio>
#include <string>

#include "models/serving/predictor.h"

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "";
  auto predictor = dtnn::Predictor::Load(file);
  if (!predictor.ok()) {
    std::fprintf(stderr, "%s\n", std::string(predictor.status().message()).c_str());
    return 1;
  }
  auto answers = (*predictor)->Classify({argv + 2, argv + argc});
  if (!answers.ok()) {
    std::fprintf(stderr, "%s\n", std::string(answers.status().message()).c_str());
    return 1;
  }
  for (const dtnn::Classification& answer : *answers) {
    std::printf("%s: %s %.2f %%\n", answer.file.c_str(), answer.name.c_str(),
                100 * answer.probability);
  }
  return 0;
}
