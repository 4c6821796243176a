// Says what a saved model sees in image files: answer MODEL IMAGE...

#include <cstdio>

#include "models/serving/predictor.h"
#include "tensor/must.h"

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: answer MODEL IMAGE...\n", stderr), 2;
  const auto predictor = dtnn::Must(dtnn::Predictor::Load(argv[1]));
  for (const auto& answer : dtnn::Must(predictor->Classify({argv + 2, argv + argc}))) {
    std::printf("%s: %s %.2f %%\n", answer.file.c_str(), answer.name.c_str(),
                100 * answer.probability);
  }
}
