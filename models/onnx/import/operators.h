// What each ONNX operator is in a network: one function per operator, one file per family.
//
// To add one: a function in the file of its family, and its line in the table of
// operators.cc. It reads its attributes and inputs, and sets its output: a layer, or what is
// known already (a constant, another view of its input).

#ifndef DTNN_MODELS_ONNX_IMPORT_OPERATORS_H_
#define DTNN_MODELS_ONNX_IMPORT_OPERATORS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "data/normalize.h"
#include "kernels/activation/activation.h"
#include "models/onnx/import/operator_reader.h"

namespace dtnn {

// Unimplemented for what layers do not have: what it is, and what would help; InvalidArgument for
// what no operator has.
using ImportOperator = absl::Status (*)(OperatorReader& op);

// What its inputs are: one may be an image under other axes than its own (axes.h).
enum class Inputs : uint8_t { kPlain, kUnderAxes };

// Null for an operator that is not read of these.
ImportOperator FindImport(std::string_view op_type, Inputs inputs);
// The names of those that are, in order: "Add, AveragePool, ...".
std::string ImportedOperators(Inputs inputs);

// The zeros around an image that `pads` or `auto_pad` asks for. InvalidArgument for a kernel,
// stride or dilation that is not from 1 to 2^24.
absl::StatusOr<ImagePads> PadsOf(OperatorReader& op, const Shape& image, const Pair& kernel,
                                 const Pair& stride, const Pair& dilation);
// `axis` counted from the front, of `rank` axes.
absl::StatusOr<int64_t> AxisOf(int64_t axis, int64_t rank);
// All of them, in order; InvalidArgument for one that is named twice.
absl::StatusOr<std::vector<int64_t>> SortedAxes(std::vector<int64_t> axes, int64_t rank);
// The attribute or, since opset 13, the input "axes".
absl::StatusOr<std::vector<int64_t>> AxesGiven(OperatorReader& op);
// One real number: an attribute of older opsets, or an input of later ones.
absl::StatusOr<double> RealGiven(OperatorReader& op, std::string_view attribute, size_t input,
                                 double otherwise);

// What a Slice takes along one axis.
struct SliceBounds {
  int64_t axis = 0, start = 0, end = 0;  // negative: from the end
  int64_t step = 1;                      // from 1 on

  // The elements begin .. end - 1 of `extent`, of which each `step`-th is taken.
  std::pair<int64_t, int64_t> In(int64_t extent) const;
};

// The bounds of a Slice, which are constant; none is the size of the batch.
absl::StatusOr<std::vector<SliceBounds>> BoundsOf(OperatorReader& op);

// Adds a layer to which the order of the axes does not matter: the next operator sees the order
// that the first input has. `parameters` and `weights` as AddLayer has them.
absl::Status AddElementwise(OperatorReader& op, std::shared_ptr<const Layer> layer,
                            std::span<const ImportedValue> inputs,
                            NetworkMaker::Parameters parameters = {}, int weights = -1);

// convolutions.cc
absl::Status ImportConv(OperatorReader& op);
absl::Status ImportConvTranspose(OperatorReader& op);

// products.cc
absl::Status ImportGemm(OperatorReader& op);
absl::Status ImportMatMul(OperatorReader& op);
// The product of an image and a constant with an element for each channel.
bool IsScaleOfChannels(OperatorReader& op);
absl::Status ImportScaleOfChannels(OperatorReader& op);
// `factors`, which are input `weights`, one for each channel.
absl::Status AddScaleOfChannels(OperatorReader& op, const ImportedValue& image,
                                std::vector<float> factors, int weights);
// The sum of what the network computes and a constant: the bias of the layer before.
absl::Status ImportBias(OperatorReader& op);
// `bias` as that of the layer that made the value, the latest; which is input `input`, and has no
// other reader.
absl::Status AddBiasToLatest(OperatorReader& op, const ImportedValue& value,
                             std::vector<float> bias);
absl::Status AddBias(OperatorReader& op, size_t input, const ImportedValue& value,
                     std::vector<float> bias);
// Whether AddBiasToLatest may add a bias to the layer of the value.
bool TakesBias(OperatorReader& op, const ImportedValue& value);
// The elements of the constant that is an input, one for each channel or feature of a value, whose
// `what` they are: its "bias", which ONNX adds, its "factor" or "slope", which it multiplies with;
// of one element, where it is not a bias, the same for all.
absl::StatusOr<std::vector<float>> EachOf(OperatorReader& op, size_t input,
                                          const ImportedValue& value, std::string_view what);
// A matrix product of each pixel, with a matrix (in, out), or (out, in) where `transposed`.
absl::Status AddProductOfPixels(OperatorReader& op, const ImportedValue& image, bool transposed);

// normalizations.cc
absl::Status ImportBatchNormalization(OperatorReader& op);
absl::Status ImportGroupNormalization(OperatorReader& op);
absl::Status ImportInstanceNormalization(OperatorReader& op);
// Groups of channels, under one axis, are normalised each: PyTorch's GroupNorm.
absl::Status ImportInstanceNormalizationOfGroups(OperatorReader& op);
absl::Status ImportLayerNormalization(OperatorReader& op);
// Whether the node, Mul or Add, is the gamma or beta of a normalisation of groups, which it then
// is.
absl::StatusOr<bool> ImportGammaOrBeta(OperatorReader& op);
// Whether the node, Add, Sub, Mul or Div, is a normalisation of the input, which nothing else
// reads: it then becomes a part of the preprocessing.
absl::StatusOr<bool> ImportPreprocessing(OperatorReader& op);
// "mean 0.5 and std 0.25,0.25,0.5".
std::string TextOf(const Normalization& normalization);

// pools.cc
absl::Status ImportMaxPool(OperatorReader& op);
absl::Status ImportAveragePool(OperatorReader& op);
absl::Status ImportGlobalMaxPool(OperatorReader& op);
absl::Status ImportGlobalAveragePool(OperatorReader& op);
absl::Status ImportReduceMean(OperatorReader& op);
absl::Status ImportResize(OperatorReader& op);  // and Upsample, its older name

// activations.cc: those that are several operators, and products with what they are made of.
absl::Status ImportNeg(OperatorReader& op);
absl::Status ImportSoftplus(OperatorReader& op);
absl::Status ImportGreater(OperatorReader& op);
// Where, which chooses between values of the network.
absl::Status ImportWhereOfValues(OperatorReader& op);
absl::Status ImportGelu(OperatorReader& op);
absl::Status ImportErf(OperatorReader& op);
absl::Status ImportDiv(OperatorReader& op);
absl::Status ImportMul(OperatorReader& op);
// Whether the node, a Mul of two values, is the last step of SiLU or Mish, which it then imports.
absl::StatusOr<bool> ImportLastProduct(OperatorReader& op);
// Whether the node, Add, Div or Mul, is a step of GELU, which it then imports.
absl::StatusOr<bool> ImportStepOfGelu(OperatorReader& op);

// elementwise.cc
// Adds an activation of input 0.
absl::Status ImportActivation(OperatorReader& op, ActivationKind kind,
                              const ActivationNumbers& numbers = {});
absl::Status ImportRelu(OperatorReader& op);
absl::Status ImportSigmoid(OperatorReader& op);
absl::Status ImportTanh(OperatorReader& op);
absl::Status ImportAtanh(OperatorReader& op);
absl::Status ImportLeakyRelu(OperatorReader& op);
absl::Status ImportClip(OperatorReader& op);
absl::Status ImportElu(OperatorReader& op);
absl::Status ImportPRelu(OperatorReader& op);
absl::Status ImportHardSigmoid(OperatorReader& op);
absl::Status ImportHardSwish(OperatorReader& op);
absl::Status ImportMish(OperatorReader& op);
absl::Status ImportDropout(OperatorReader& op);
absl::Status ImportIdentity(OperatorReader& op);
absl::Status ImportSoftmax(OperatorReader& op);
absl::Status ImportLogSoftmax(OperatorReader& op);
absl::Status ImportAdd(OperatorReader& op);
absl::Status ImportSum(OperatorReader& op);
absl::Status ImportConcat(OperatorReader& op);

// shapes.cc
absl::Status ImportFlatten(OperatorReader& op);
absl::Status ImportReshape(OperatorReader& op);
absl::Status ImportSqueeze(OperatorReader& op);
absl::Status ImportTranspose(OperatorReader& op);

// pads.cc
absl::Status ImportPad(OperatorReader& op);

// axes_operators.cc: operators one of whose inputs is an image under other axes.
absl::Status ImportAddOfAxes(OperatorReader& op);
absl::Status ImportDivOfAxes(OperatorReader& op);
absl::Status ImportMulOfAxes(OperatorReader& op);
absl::Status ImportGemmOfAxes(OperatorReader& op);
absl::Status ImportProductOfAxes(OperatorReader& op);
absl::Status ImportLayerNormalizationOfAxes(OperatorReader& op);
absl::Status ImportReshapeOfAxes(OperatorReader& op);
absl::Status ImportSliceOfAxes(OperatorReader& op);
absl::Status ImportSqueezeOfAxes(OperatorReader& op);
absl::Status ImportTransposeOfAxes(OperatorReader& op);
absl::Status ImportUnsqueezeOfAxes(OperatorReader& op);
// Gives the output, which is the image `value`, these axes; false where there are none.
bool SetAxes(OperatorReader& op, ImportedValue value, std::optional<Axes> axes);
// Those of an image that a Reshape to `shape` makes; nullopt where there are none.
std::optional<Axes> WantedAxes(OperatorReader& op, const ImportedValue& value,
                               std::vector<int64_t> shape);
// The axes that a value is seen under, whichever they are.
Axes AxesOf(const ImportedValue& value);

// parts.cc: some of the places along an axis of an image, whichever axes it is seen under.
absl::Status ImportGatherOfImage(OperatorReader& op);
absl::Status ImportSliceOfImage(OperatorReader& op, const std::vector<SliceBounds>& all);
absl::Status ImportSplit(OperatorReader& op);

// attention.cc: what attention is made of, over the last two of such axes.
absl::Status ImportMatMulOfAxes(OperatorReader& op);
absl::Status ImportSoftmaxOfAxes(OperatorReader& op);
// Along an axis of one element, as keys of one pixel are.
absl::Status AddSoftmaxOfOne(OperatorReader& op, const ImportedValue& image);
// A product with one number.
absl::Status ImportFactorOfAxes(OperatorReader& op);
// Whether that takes a factor in, whichever axes scores are seen under.
bool AreLatestScores(OperatorReader& op, size_t input);

// tokens.cc
// Constants before the pixels of an image.
absl::Status ImportClassTokens(OperatorReader& op);
// Whether the constant has one element for each element of an image, and is not the bias of a
// layer; the sum with it.
bool ArePositions(OperatorReader& op, size_t constant, const ImportedValue& value);
absl::Status ImportPositions(OperatorReader& op, size_t constant, const ImportedValue& value);

// quantized.cc
absl::Status ImportQuantizeLinear(OperatorReader& op);
absl::Status ImportDequantizeLinear(OperatorReader& op);

// constants.cc: what is computed when the model is imported.
absl::Status ImportConstant(OperatorReader& op);
absl::Status ImportShape(OperatorReader& op);
absl::Status ImportGather(OperatorReader& op);
absl::Status ImportUnsqueeze(OperatorReader& op);
absl::Status ImportSlice(OperatorReader& op);  // and of images
absl::Status ImportCast(OperatorReader& op);
absl::Status ImportArithmetic(OperatorReader& op);  // Add, Mul, Div, Mod, Pow, Equal
absl::Status ImportSub(OperatorReader& op);
absl::Status ImportSqrt(OperatorReader& op);
absl::Status ImportReduceProd(OperatorReader& op);
absl::Status ImportRange(OperatorReader& op);

// expand.cc: the same.
absl::Status ImportExpand(OperatorReader& op);
absl::Status ImportConstantOfShape(OperatorReader& op);
absl::Status ImportWhere(OperatorReader& op);

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_IMPORT_OPERATORS_H_
