// DTNN as a library: answers with a model that the launcher has trained and saved, and links
// neither trainer nor optimizers nor MPI.
//
//   dtnn benchmark --model=simplecnn --dataset=mnist --save-model=/tmp/mine.npz
//   answer /tmp/mine.npz /tmp/shoe.png

#include <cstdio>

#include "models/serving/predictor.h"
#include "tensor/must.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: answer MODEL IMAGE...\n", stderr);
    return 2;
  }
  const auto predictor = dtnn::Must(dtnn::Predictor::Load(argv[1]));
  for (const auto& answer : dtnn::Must(predictor->Classify({argv + 2, argv + argc}))) {
    std::printf("%s: %s %.2f %%\n", answer.file.c_str(), answer.name.c_str(),
                100 * answer.probability);
  }
}
