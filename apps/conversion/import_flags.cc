#include "apps/conversion/import_flags.h"

#include "apps/flags/tool_flags.h"
#include "apps/program/image_flags.h"

namespace dtnn {

std::vector<OptionSpec> OptionsOf(ImportFlags& options) {
  using enum OptionType;
  return {
      LikeLauncher("model", &options.model,
                   "network that weights are for: its name, or a model's file (.safetensors, .npz) "
                   "that has it; list shows all names"),
      LikeLauncher("weights-partial", &options.weights_partial,
                   "layers that a file of weights has in another shape, such as the last one for "
                   "other classes, keep their initial values"),
      {.name = "final-activation",
       .type = kWord,
       .help = "what is added after the last layer, unless that is it: networks of PyTorch end in "
               "logits, without the softmax by which predict gives probabilities of classes",
       .words = "none,softmax,sigmoid",
       .field = &options.final_activation},
      ClassNamesOption(options.class_names,
                       "file with a class name per line, in the order of the outputs"),
      MeanOption(options.mean),
      StdOption(options.std),
      {.name = "square",
       .type = kBool,
       .help =
           "the network was shown the largest square in the middle of an image; otherwise all of "
           "it is stretched to the network's input",
       .field = &options.square},
      CropOption(
          options.crop,
          "fraction of each side that it was shown, in the middle; with --square 0.875 is nearly "
          "torchvision's Resize(256), CenterCrop(224); 0: all of it, or as the file says"),
      InputShapeOption(options.input_shape,
                       "size of the network's input, channels, height and width in this order, "
                       "for a file that does not tell it"),
      {.name = "output",
       .type = kText,
       .help = "name of the output that the network is to have, of a file with several",
       .field = &options.output},
      {.name = "tensor-format",
       .type = kWord,
       .help = "order of the axes of the images that the network computes with; on CPUs NHWC is "
               "faster, and quantize needs it",
       .words = "NHWC,NCHW",
       .field = &options.format},
  };
}

}  // namespace dtnn
