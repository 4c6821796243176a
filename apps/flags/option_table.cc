#include "apps/flags/option_table.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "apps/flags/word_meanings.h"
#include "models/run/options/option_members.h"

namespace dtnn {
namespace {

using enum OptionGroup;
using enum OptionType;

#define DTNN_METRICS                                                                      \
  "categorical_accuracy,top5_accuracy,categorical_hinge,categorical_mse,categorical_mae," \
  "regression_mse,regression_mae,binary_accuracy,binary_confusion_matrix,"                \
  "multiclass_confusion_matrix,precision,recall,f1_score,mean_iou,per_class_report"
#define DTNN_LOSSES "categorical_cross_entropy,binary_cross_entropy,mse,mae"
constexpr std::string_view kMetrics = DTNN_METRICS;
constexpr std::string_view kLosses = DTNN_LOSSES;
// --loss-func takes the one loss and, as old releases did, metrics.
constexpr std::string_view kLossesAndMetrics = DTNN_LOSSES "," DTNN_METRICS;
// What schedulers may watch.
constexpr std::string_view kWatched = kLossesAndMetrics;
#undef DTNN_METRICS
#undef DTNN_LOSSES
constexpr std::string_view kConvVariants = "auto"
#define DTNN_CONV_VARIANT(name, variant, meaning) "," name
#include "kernels/conv/variants.inc"
#undef DTNN_CONV_VARIANT
    ;

constexpr std::string_view kDirectMethods =
    "planar,convdirect_original_nhwc_default,convdirect_im2row_nhwc_default,"
    "convdirect_conv_gemm_nhwc_default,convdirect_block_blis_nhwc_blis,"
    "convdirect_block_blis_nhwc_8x12,convdirect_block_blis_nhwc_4x20,"
    "convdirect_block_shalom_nhwc_7x12_npa_u4,convdirect_tzemeng_nhwc_7x12_u4";

// A member of Options.
struct Member {
  OptionField field = {};
  std::string_view path = {};
};
template <class Load, class Store>
constexpr Member MakeMember(std::string_view path, Load load, Store store) {
  Member member = {.path = path};
  member.field.load = load;
  member.field.store = store;
  return member;
}
#define DTNN_FIELD(member)                                                                   \
  MakeMember(                                                                                \
      #member, [](const Options* options, const void*) { return ToValue(options->member); }, \
      [](const OptionValue& value, Options* options, void*) { Assign(value, options->member); })

// A row.
constexpr OptionSpec Now(std::string_view name, OptionGroup group, OptionType type,
                         const Member& member, std::string_view help) {
  return {.name = name,
          .group = group,
          .type = type,
          .help = help,
          .field = member.field,
          .path = member.path};
}

// A row that takes words.
constexpr OptionSpec Now(std::string_view name, OptionGroup group, OptionType type,
                         const Member& member, std::string_view help, std::string_view words) {
  OptionSpec spec = Now(name, group, type, member, help);
  spec.words = words;
  return spec;
}

// A row whose values can be listed.
constexpr OptionSpec Listed(Action action, OptionSpec spec) {
  spec.on_list = action;
  return spec;
}

constexpr OptionSpec kTable[] = {
    Listed(Action::kListModels, Now("model", kModel, kText, DTNN_FIELD(network.name),
                                    "network to build; --model=list shows all")
                                    .Example("resnet20_cifar10")),
    Now("batch-size", kModel, kInt, DTNN_FIELD(training.batch),
        "samples per step and rank; 64 if no batch size is given")
        .Unit("samples", "128")
        .With(&OptionSpec::by_default, "None"),
    Now("global-batch-size", kModel, kInt, DTNN_FIELD(training.global_batch),
        "samples per step over all ranks, instead of --batch-size")
        .Unit("samples", "256"),
    Now("dtype", kModel, kWord, DTNN_FIELD(network.dtype),
        "number type of parameters and activations", "float32,float64")
        .Means(meanings::kDtype),
    Now("math-mode", kModel, kWord, DTNN_FIELD(device.math_mode),
        "number types to compute with; CPUs have fp32 and bf16", "fp32,tf32,bf16,fp16")
        .Means(meanings::kMathMode)
        .Example("bf16"),
    Now("num-epochs", kModel, kInt, DTNN_FIELD(training.epochs), "passes over the training data")
        .Unit("epochs", "10")
        .Needs("!evaluate-only"),
    Now("steps-per-epoch", kModel, kReal, DTNN_FIELD(training.steps_per_epoch),
        "train on only this many batches per epoch, rounded up; 0: on all data")
        .Unit("batches", "100")
        .Needs("!evaluate-only"),
    Now("evaluate", kModel, kBool, DTNN_FIELD(training.evaluate),
        "evaluate on the test split before and after training"),
    Now("evaluate-only", kModel, kBool, DTNN_FIELD(training.evaluate_only),
        "evaluate on the test split and do not train"),
    Now("weights-and-bias-filename", kModel, kPath, DTNN_FIELD(network.weights),
        "start from the weights in this file: .npz, .safetensors or a checkpoint")
        .Example("run1/checkpoint-2250.npz"),
    Now("weights-format", kModel, kWord, DTNN_FIELD(network.weights_format),
        "layout of a weights file that does not state it", "auto,NHWC,NCHW")
        .Means(meanings::kWeightsFormat)
        .Needs("weights-and-bias-filename"),
    Now("weights-partial", kModel, kBool, DTNN_FIELD(network.weights_partial),
        "load those parameters of a weights file that fit; the others keep their initial values")
        .Needs("weights-and-bias-filename"),
    Now("freeze", kModel, kText, DTNN_FIELD(network.freeze),
        "layers whose parameters stay fixed: a list of ids, ranges of ids and names with wildcards")
        .Example("1-40,*BatchNormalization")
        .Needs("!evaluate-only"),
    Now("save-model", kModel, kPath, DTNN_FIELD(output.model),
        "write the trained model to this file, with all that predict needs: .safetensors or .npz")
        .Output()
        .Example("mine.safetensors"),
    Now("history-file", kModel, kPath, DTNN_FIELD(output.history),
        "write loss and metrics of every epoch to this file (a new run replaces it): text, .csv or "
        ".jsonl")
        .Output()
        .Example("history.csv")
        .Needs("!evaluate-only"),
    Now("checkpoint-dir", kModel, kPath, DTNN_FIELD(checkpoint.folder),
        "save the state of the run in this folder, for --resume")
        .Output()
        .Example("run1"),
    Now("checkpoint-freq", kModel, kInt, DTNN_FIELD(checkpoint.every_epochs),
        "epochs from one checkpoint to the next")
        .Unit("epochs", "5")
        .Needs("checkpoint-dir"),
    Now("checkpoint-steps", kModel, kInt, DTNN_FIELD(checkpoint.every_steps),
        "within an epoch, batches from one checkpoint to the next; 0: none")
        .Unit("batches", "500")
        .Needs("checkpoint-dir"),
    Now("resume", kModel, kWord, DTNN_FIELD(checkpoint.resume),
        "continue from the newest checkpoint in --checkpoint-dir", "False,True,if-there")
        .Means(meanings::kResume),
    Now("tensor-format", kModel, kWord, DTNN_FIELD(network.format), "order of image axes in memory",
        "AUTO,NHWC,NCHW")
        .Means(meanings::kTensorFormat),
    Now("random-seed", kModel, kInt, DTNN_FIELD(training.seed),
        "seed of all random numbers; the same seed gives the same run")
        .Unit("seed", "1"),

    Now("shared-storage", kSynchronisation, kBool, DTNN_FIELD(ranks.shared_storage),
        "ranks share one data set, and rank 0 writes files; False: each rank has its own data and "
        "files")
        .Needs("parallel=data")
        .Always(),
    Now("model-sync-freq", kSynchronisation, kInt, DTNN_FIELD(sync.model_steps),
        "batches between averages of the ranks' models; 0: sum gradients in every batch; negative: "
        "never average")
        .Unit("batches", "10")
        .Needs("parallel=data"),
    Now("model-sync-alg", kSynchronisation, kWord, DTNN_FIELD(sync.weighting),
        "how much each rank counts in an average of models", "avg,wavg,invwavg")
        .Means(meanings::kModelSyncAlg)
        .Needs("parallel=data"),
    Now("model-sync-participation", kSynchronisation, kWord, DTNN_FIELD(sync.participation),
        "ranks whose models are averaged", "all,avail2all")
        .Means(meanings::kModelSyncParticipation)
        .Needs("parallel=data"),
    Now("model-sync-min-avail", kSynchronisation, kInt, DTNN_FIELD(sync.min_available),
        "skip an average of models when fewer ranks than this still have data")
        .Unit("ranks", "2")
        .Needs("parallel=data"),
    Now("initial-model-sync", kSynchronisation, kBool, DTNN_FIELD(sync.initial_model),
        "all ranks start from the parameters of rank 0")
        .Needs("parallel=data"),
    Now("final-model-sync", kSynchronisation, kBool, DTNN_FIELD(sync.final_model),
        "average the models of the ranks after training")
        .Needs("parallel=data"),
    Now("sync-batch-norm", kSynchronisation, kBool, DTNN_FIELD(sync.batch_norm),
        "normalise batches over the samples of all ranks, not of each rank alone")
        .Needs("parallel=data"),

    Listed(Action::kListDatasets,
           Now("dataset", kDataset, kWord, DTNN_FIELD(data.name),
               "data to train and test on; --dataset=list shows all",
               "mnist,cifar10,imagenet,chestxray,cyclone,tsunamis,archive,folder,masks,synthetic")
               .Means(meanings::kDataset)),
    Now("dataset-path", kDataset, kPath, DTNN_FIELD(data.path),
        "folder or archive of the data set; mnist without it: Debian's Fashion-MNIST")
        .Example("/data/cifar-10-binary.tar.gz")
        .Needs("!dataset=synthetic"),
    Now("dataset-train-path", kDataset, kPath, DTNN_FIELD(data.train_path),
        "folder or archive of the training split, if it is not that of --dataset-path")
        .Example("/data/train")
        .Needs("!dataset=synthetic"),
    Now("dataset-test-path", kDataset, kPath, DTNN_FIELD(data.test_path),
        "folder or archive of the test split, if it is not that of --dataset-path")
        .Example("/data/test")
        .Needs("!dataset=synthetic"),
    Now("skip-damaged-images", kDataset, kBool, DTNN_FIELD(data.skip_damaged_images),
        "skip damaged images, instead of ending the run at the first one; the start then reads and "
        "decodes all images once")
        .Needs("dataset=folder,chestxray,imagenet,masks"),
    Now("archive-format", kDataset, kWord, DTNN_FIELD(data.archive_format),
        "order of the image axes in --dataset=archive", "auto,NCHW,NHWC")
        .Means(meanings::kArchiveFormat)
        .Needs("dataset=archive"),
    Now("dataset-lang", kDataset, kText, DTNN_FIELD(data.language),
        "language of a text data set; data sets of images ignore it")
        .Example("fr"),
    Now("dataset-lang2", kDataset, kText, DTNN_FIELD(data.language2),
        "second language of a text data set; data sets of images ignore it")
        .Example("fr"),
    Now("synthetic-train-samples", kDataset, kInt, DTNN_FIELD(data.synthetic.train_samples),
        "number of training samples of --dataset=synthetic")
        .Unit("samples", "50000")
        .Needs("dataset=synthetic"),
    Now("synthetic-test-samples", kDataset, kInt, DTNN_FIELD(data.synthetic.test_samples),
        "number of test samples of --dataset=synthetic")
        .Unit("samples", "10000")
        .Needs("dataset=synthetic"),
    Now("synthetic-input-shape", kDataset, kInts, DTNN_FIELD(data.synthetic.input_shape),
        "size of a sample of --dataset=synthetic")
        .Unit("channels,height,width", "1,28,28")
        .Needs("dataset=synthetic"),
    Now("synthetic-output-shape", kDataset, kInts, DTNN_FIELD(data.synthetic.output_shape),
        "number of classes of --dataset=synthetic")
        .Unit("classes", "100")
        .Needs("dataset=synthetic"),
    Now("synthetic-pattern", kDataset, kWord, DTNN_FIELD(data.synthetic.pattern),
        "contents of the generated samples", "zeros,classes")
        .Means(meanings::kSyntheticPattern)
        .Needs("dataset=synthetic|use-synthetic-data"),
    Now("dataset-percentage", kDataset, kReal, DTNN_FIELD(data.share),
        "fraction of the samples to use, of training, validation and test data each; 0.1: a tenth; "
        "2: "
        "all data twice; 0: all data once")
        .Unit("fraction", "0.1"),
    Now("dataset-part", kDataset, kText, DTNN_FIELD(data.part),
        "train on one of several equal parts of the training samples: 2/4 is the second of four; "
        "2/4@dirichlet:0.3, @labels:2, @sizes:1 or @file:FILE: of parts divided so. Which samples "
        "it has does not depend on --random-seed")
        .Unit("K/N", "2/4")
        .Needs("!evaluate-only"),
    Now("test-as-validation", kDataset, kBool, DTNN_FIELD(data.test_as_validation),
        "validate on the test split, and train on all training data")
        .Needs("!evaluate-only"),
    Now("validation-split", kDataset, kReal, DTNN_FIELD(data.validation_split),
        "fraction of the training data, and of every class in it, that is held out for validation")
        .Unit("fraction", "0.1")
        .Needs("!evaluate-only !test-as-validation"),
    Now("augment-shuffle", kDataset, kBool, DTNN_FIELD(data.shuffle),
        "shuffle the training data in every epoch")
        .Needs("!evaluate-only"),
    Listed(Action::kListTransforms,
           Now("augment", kDataset, kText, DTNN_FIELD(data.augment.transforms),
               "random changes to training images, in this order; --augment=list explains them")
               .Unit("transform,...", "flip,pad_crop:4,cutout:8")
               .Needs("!evaluate-only")),
    Now("mixup", kDataset, kReal, DTNN_FIELD(data.augment.mixup),
        "mix each training image and its target with another's, in random proportions from the "
        "distribution Beta(ALPHA, ALPHA); 0: off")
        .Unit("alpha", "0.2")
        .Needs("!evaluate-only"),
    Now("augment-flip", kDataset, kBool, DTNN_FIELD(data.augment.flip),
        "mirror training images left to right, at random")
        .Needs("!evaluate-only"),
    Now("augment-flip-prob", kDataset, kReal, DTNN_FIELD(data.augment.flip_probability),
        "probability with which --augment-flip mirrors an image")
        .Unit("probability", "0.25")
        .Needs("augment-flip"),
    Now("augment-crop", kDataset, kBool, DTNN_FIELD(data.augment.crop),
        "keep a random window of training images, moved to a random place")
        .Needs("!evaluate-only"),
    Now("augment-crop-size", kDataset, kInt, DTNN_FIELD(data.augment.crop_size),
        "side of the window that --augment-crop keeps")
        .Unit("pixels", "24")
        .Needs("augment-crop"),
    Now("augment-crop-prob", kDataset, kReal, DTNN_FIELD(data.augment.crop_probability),
        "probability with which --augment-crop crops an image")
        .Unit("probability", "0.25")
        .Needs("augment-crop"),
    Now("transform-square", kDataset, kBool, DTNN_FIELD(data.center_square),
        "keep only the largest square in the middle of every image"),
    Now("transform-crop", kDataset, kBool, DTNN_FIELD(data.center_crop),
        "keep only the centre of every image"),
    Now("transform-crop-perc", kDataset, kReal, DTNN_FIELD(data.center_crop_share),
        "fraction of each side that --transform-crop keeps")
        .Unit("fraction", "0.75")
        .Needs("transform-crop"),
    Now("transform-resize", kDataset, kBool, DTNN_FIELD(data.resize),
        "resize every image to a square"),
    Now("transform-resize-size", kDataset, kInt, DTNN_FIELD(data.resize_side),
        "side of the square of --transform-resize")
        .Unit("pixels", "224")
        .Needs("transform-resize"),
    Now("normalize", kDataset, kBool, DTNN_FIELD(data.normalize),
        "replace every value x of a sample by (x + --normalize-offset) * --normalize-scale"),
    Now("normalize-offset", kDataset, kReals, DTNN_FIELD(data.normalize_offset),
        "number that --normalize adds, or one per channel; pixels are 0 to 1")
        .Unit("value,...", "-0.5")
        .Needs("normalize"),
    Now("normalize-scale", kDataset, kReals, DTNN_FIELD(data.normalize_scale),
        "number that --normalize then multiplies by, or one per channel")
        .Unit("factor,...", "2")
        .Needs("normalize"),
    Now("standardize", kDataset, kBool, DTNN_FIELD(data.standardize),
        "replace every value x by (x - mean) / deviation of its channel over the training samples, "
        "without those of --validation-split"),
    Now("use-synthetic-data", kDataset, kBool, DTNN_FIELD(data.synthetic.instead),
        "use generated samples in the shape of --dataset; no files are read"),
    Now("loader-threads", kDataset, kInt, DTNN_FIELD(data.threads),
        "threads that prefetch samples; 0: as many as the data set needs")
        .Unit("threads", "2"),

    Now("enable-best-of", kOptimisation, kBool, DTNN_FIELD(convolution.best_of),
        "time the algorithms of every convolution before the first step, and run the fastest")
        .Needs("!enable-gpu"),
    Now("enable-memory-cache", kOptimisation, kBool, DTNN_FIELD(device.keep_workspaces),
        "keep the layers' scratch memory between steps; False: allocate it in each call, to show "
        "what that costs")
        .Needs("!enable-gpu"),
    Now("enable-fused-bn-relu", kOptimisation, kBool, DTNN_FIELD(device.fusions.bn_relu),
        "in evaluation, compute batch normalisation and relu in one pass"),
    Now("enable-fused-conv-relu", kOptimisation, kBool, DTNN_FIELD(device.fusions.conv_relu),
        "in evaluation, compute convolution and relu in one pass"),
    Now("enable-fused-conv-bn", kOptimisation, kBool, DTNN_FIELD(device.fusions.conv_bn),
        "in evaluation, compute convolution and batch normalisation in one pass; on GPUs, of NHWC "
        "images"),
    Now("enable-fused-conv-bn-relu", kOptimisation, kBool, DTNN_FIELD(device.fusions.conv_bn_relu),
        "in evaluation, compute convolution, batch normalisation and relu in one pass; on GPUs, of "
        "NHWC images"),

    Now("conv-variant", kConvolution, kWord, DTNN_FIELD(convolution.variant),
        "algorithm of convolutions on CPUs; convolutions that it cannot compute use another",
        kConvVariants)
        .Means(meanings::kConvVariant),
    Now("best-of-file", kConvolution, kPath, DTNN_FIELD(convolution.best_of_file),
        "file in which --enable-best-of, and on GPUs --enable-cudnn-auto-conv-alg, keeps its "
        "decisions: read if it exists, then written; by rank 0 only")
        .Example("tuned.txt")
        .Needs("enable-best-of|enable-gpu gpu-device=cuda|!enable-gpu "
               "enable-cudnn-auto-conv-alg|!enable-gpu"),
    Listed(Action::kListDirectMethods,
           Now("conv-direct-method", kConvolution, kWord, DTNN_FIELD(convolution.direct_method),
               "kernel that --conv-variant=direct runs; --conv-direct-method=list explains them",
               kDirectMethods)
               .Means(meanings::kDirectMethod)
               .Needs("conv-variant=direct")),
    Now("conv-direct-methods-for-best-of", kConvolution, kWords,
        DTNN_FIELD(convolution.best_of_methods),
        "names of --conv-direct-method under which --enable-best-of reports and saves algorithms, "
        "the first where several mean the same; all algorithms are timed in any case",
        kDirectMethods)
        .Means(meanings::kDirectMethod)
        .Example("planar,convdirect_conv_gemm_nhwc_default")
        .Needs("enable-best-of"),

    Now("optimizer", kOptimizer, kWord, DTNN_FIELD(optimizer.name),
        "rule that updates the parameters", "sgd,rmsprop,adam,nadam,adamw,oktopk")
        .Means(meanings::kOptimizer),
    Now("learning-rate", kOptimizer, kReal, DTNN_FIELD(optimizer.learning_rate),
        "step size of the optimizer")
        .Unit("rate", "0.001")
        .Needs("!find-learning-rate"),
    Now("find-learning-rate", kOptimizer, kBool, DTNN_FIELD(optimizer.find_learning_rate),
        "before training, find the learning rate: steps with growing rates on a copy of the "
        "network, then a tenth of the rate with the least loss"),
    Now("learning-rate-scaling", kOptimizer, kWord, DTNN_FIELD(optimizer.learning_rate_scaling),
        "divide or multiply the learning rate by the number of ranks; True: divide",
        "False,True,divide,multiply")
        .Means(meanings::kLearningRateScaling),
    Now("optimizer-momentum", kOptimizer, kReal, DTNN_FIELD(optimizer.momentum),
        "sgd, oktopk: momentum, the fraction of the previous step that is added to the next")
        .Unit("fraction", "0.95")
        .Needs("optimizer=sgd,oktopk"),
    Now("optimizer-decay", kOptimizer, kReal, DTNN_FIELD(optimizer.decay),
        "weight decay: each step subtracts this fraction of every weight, times the "
        "learning rate")
        .Unit("fraction", "0.0005"),
    Now("optimizer-decay-all", kOptimizer, kBool, DTNN_FIELD(optimizer.decay_all),
        "decay biases and batch normalisation parameters too, not only weights")
        .Needs("optimizer-decay"),
    Now("optimizer-nesterov", kOptimizer, kBool, DTNN_FIELD(optimizer.nesterov),
        "sgd, oktopk: Nesterov's form of momentum")
        .Needs("optimizer=sgd,oktopk"),
    Now("optimizer-beta1", kOptimizer, kReal, DTNN_FIELD(optimizer.beta1),
        "adam, nadam, adamw: decay rate of the running mean of gradients; the usual 0.9 often "
        "learns "
        "better than the 0.99 of adam and nadam")
        .Unit("fraction", "0.9")
        .Needs("optimizer=adam,nadam,adamw"),
    Now("optimizer-beta2", kOptimizer, kReal, DTNN_FIELD(optimizer.beta2),
        "adam, nadam, adamw: decay rate of the running mean of squared gradients")
        .Unit("fraction", "0.99")
        .Needs("optimizer=adam,nadam,adamw"),
    Now("optimizer-epsilon", kOptimizer, kReal, DTNN_FIELD(optimizer.epsilon),
        "rmsprop, adam, nadam, adamw: number that prevents a division by zero")
        .Unit("value", "1e-8")
        .Needs("optimizer=rmsprop,adam,nadam,adamw"),
    Now("optimizer-rho", kOptimizer, kReal, DTNN_FIELD(optimizer.rho),
        "rmsprop: decay rate of the running mean of squared gradients")
        .Unit("fraction", "0.99")
        .Needs("optimizer=rmsprop"),
    Now("optimizer-density", kOptimizer, kReal, DTNN_FIELD(optimizer.density),
        "oktopk: fraction of the gradients that a step applies; the rest waits for later steps")
        .Unit("fraction", "0.001")
        .Needs("optimizer=oktopk"),
    Now("optimizer-tau", kOptimizer, kInt, DTNN_FIELD(optimizer.tau),
        "oktopk: steps after which the ranks divide the summing anew")
        .Unit("steps", "128")
        .Needs("optimizer=oktopk"),
    Now("optimizer-tau-prime", kOptimizer, kInt, DTNN_FIELD(optimizer.tau_prime),
        "oktopk: steps after which the threshold for gradients is computed exactly")
        .Unit("steps", "16")
        .Needs("optimizer=oktopk"),
    Now("ema", kOptimizer, kReal, DTNN_FIELD(optimizer.average_decay),
        "keep an exponential moving average of the parameters with this decay per step; "
        "validation, "
        "tests, schedulers and files take it instead of the parameters; 0: off")
        .Unit("decay", "0.999"),
    Now("clip-norm", kOptimizer, kReal, DTNN_FIELD(training.clip_norm),
        "largest Euclidean norm of a gradient; a longer one is scaled down to it; 0: off")
        .Unit("norm", "1"),
    Now("dp-sgd-clip", kOptimizer, kReal, DTNN_FIELD(training.dp_sgd_clip),
        "differential privacy for each sample: longest gradient of one, as Euclidean norm; longer "
        "ones are shortened to it. 0: none. For whole clients of a federation there is --dp-clip")
        .Unit("norm", "1"),
    Now("dp-sgd-noise", kOptimizer, kReal, DTNN_FIELD(training.dp_sgd_noise),
        "differential privacy for each sample: deviation of the noise over --dp-sgd-clip, in the "
        "sum of the gradients of a step")
        .Unit("factor", "1.1")
        .Needs("dp-sgd-clip"),
    Now("dp-sgd-delta", kOptimizer, kReal, DTNN_FIELD(training.dp_sgd_delta),
        "differential privacy for each sample: the delta for which epsilon is reported")
        .Unit("probability", "1e-6")
        .Needs("dp-sgd-clip"),
    Now("accumulate-steps", kOptimizer, kInt, DTNN_FIELD(training.accumulate_steps),
        "batches whose gradients are added up for one update")
        .Unit("batches", "4"),
    Now("loss-func", kOptimizer, kWords, DTNN_FIELD(training.loss),
        "loss to minimise: categorical_cross_entropy, binary_cross_entropy, mse or mae; metrics "
        "may be listed after it",
        kLossesAndMetrics)
        .Means(meanings::kLossesAndMetrics)
        .Example("binary_cross_entropy")
        .Always(),
    Now("label-smoothing", kOptimizer, kReal, DTNN_FIELD(training.label_smoothing),
        "fraction of the target that categorical_cross_entropy spreads over all classes, and "
        "binary_cross_entropy over both answers")
        .Unit("fraction", "0.1")
        .Needs("loss-func=categorical_cross_entropy,binary_cross_entropy")
        .Always(),
    Now("class-weights", kOptimizer, kText, DTNN_FIELD(training.class_weights),
        "how much a sample of each class counts in training with categorical_cross_entropy: "
        "balanced (each class as a whole as much as the others), or a number for each class, from "
        "the first on, or a file whose name ends in .txt with a number, or a class and a number, "
        "in "
        "each line")
        .Unit("balanced|w,...|FILE", "balanced"),
    Now("metrics", kOptimizer, kWords, DTNN_FIELD(training.metrics),
        "metrics to compute besides the loss; accuracy means categorical_accuracy; if not given, "
        "those that suit the data; any of:",
        kMetrics)
        .Means(meanings::kMetrics)
        .Example("categorical_accuracy,f1_score")
        .Always(),

    Now("schedulers", kSchedulers, kWords, DTNN_FIELD(schedule.schedulers),
        "rules that change the learning rate, end the run or save, applied in this order; if not "
        "given, "
        "model_checkpoint only with --model-dir; --schedulers= turns all off; any of:",
        "warm_up,early_stopping,reduce_lr_on_plateau,reduce_lr_every_nepochs,model_checkpoint,"
        "stop_at_loss,cosine,polynomial,one_cycle")
        .Means(meanings::kSchedulers)
        .With(&OptionSpec::by_default, "early_stopping,reduce_lr_on_plateau,model_checkpoint")
        .Example("warm_up,cosine")
        .Needs("!parallel=federated"),
    Now("model-dir", kSchedulers, kPath, DTNN_FIELD(schedule.model_folder),
        "folder in which the scheduler model_checkpoint saves parameters; if only --schedulers "
        "asks "
        "for that scheduler, the current folder")
        .Output()
        .Example("best"),
    Now("warm-up-batches", kSchedulers, kInt, DTNN_FIELD(schedule.warm_up.batches),
        "warm_up: batches until the full learning rate, instead of --warm-up-epochs")
        .Unit("batches", "500")
        .Needs("schedulers=warm_up"),
    Now("warm-up-epochs", kSchedulers, kInt, DTNN_FIELD(schedule.warm_up.epochs),
        "warm_up: epochs until the full learning rate")
        .Unit("epochs", "1")
        .Needs("schedulers=warm_up"),
    Now("early-stopping-metric", kSchedulers, kMetric, DTNN_FIELD(schedule.early_stopping.metric),
        "early_stopping: metric that must improve", kWatched)
        .Means(meanings::kLossesAndMetrics)
        .Example("val_categorical_accuracy")
        .Needs("schedulers=early_stopping"),
    Now("early-stopping-patience", kSchedulers, kInt, DTNN_FIELD(schedule.early_stopping.patience),
        "early_stopping: epochs without improvement that end the run")
        .Unit("epochs", "5")
        .Needs("schedulers=early_stopping"),
    Now("early-stopping-minimize", kSchedulers, kBool, DTNN_FIELD(schedule.early_stopping.minimize),
        "early_stopping: smaller is better; if not given, as the metric says")
        .Needs("schedulers=early_stopping"),
    Now("early-stopping-min-delta", kSchedulers, kReal,
        DTNN_FIELD(schedule.early_stopping.min_delta),
        "early_stopping: a change of the metric up to this is not an improvement")
        .Unit("value", "0.001")
        .Needs("schedulers=early_stopping"),
    Now("reduce-lr-on-plateau-metric", kSchedulers, kMetric,
        DTNN_FIELD(schedule.reduce_on_plateau.metric),
        "reduce_lr_on_plateau: metric that must improve", kWatched)
        .Means(meanings::kLossesAndMetrics)
        .Example("val_categorical_accuracy")
        .Needs("schedulers=reduce_lr_on_plateau"),
    Now("reduce-lr-on-plateau-factor", kSchedulers, kReal,
        DTNN_FIELD(schedule.reduce_on_plateau.factor),
        "reduce_lr_on_plateau: number that the learning rate is multiplied by")
        .Unit("factor", "0.5")
        .Needs("schedulers=reduce_lr_on_plateau"),
    Now("reduce-lr-on-plateau-patience", kSchedulers, kInt,
        DTNN_FIELD(schedule.reduce_on_plateau.patience),
        "reduce_lr_on_plateau: epochs without improvement before a reduction")
        .Unit("epochs", "3")
        .Needs("schedulers=reduce_lr_on_plateau"),
    Now("reduce-lr-on-plateau-min-lr", kSchedulers, kReal,
        DTNN_FIELD(schedule.reduce_on_plateau.min_rate),
        "reduce_lr_on_plateau: reductions below this learning rate are skipped")
        .Unit("rate", "0.0001")
        .Needs("schedulers=reduce_lr_on_plateau"),
    Now("reduce-lr-every-nepochs-factor", kSchedulers, kReal,
        DTNN_FIELD(schedule.reduce_every.factor),
        "reduce_lr_every_nepochs: number that the learning rate is multiplied by")
        .Unit("factor", "0.5")
        .Needs("schedulers=reduce_lr_every_nepochs"),
    Now("reduce-lr-every-nepochs-nepochs", kSchedulers, kInt,
        DTNN_FIELD(schedule.reduce_every.epochs),
        "reduce_lr_every_nepochs: epochs from one reduction to the next")
        .Unit("epochs", "30")
        .Needs("schedulers=reduce_lr_every_nepochs"),
    Now("reduce-lr-every-nepochs-min-lr", kSchedulers, kReal,
        DTNN_FIELD(schedule.reduce_every.min_rate),
        "reduce_lr_every_nepochs: reductions below this learning rate are skipped")
        .Unit("rate", "0.0001")
        .Needs("schedulers=reduce_lr_every_nepochs"),
    Now("stop-at-loss-metric", kSchedulers, kMetric, DTNN_FIELD(schedule.stop_at.metric),
        "stop_at_loss: metric that is compared with the threshold", kWatched)
        .Means(meanings::kLossesAndMetrics)
        .Example("val_categorical_cross_entropy")
        .Needs("schedulers=stop_at_loss"),
    Now("stop-at-loss-threshold", kSchedulers, kReal, DTNN_FIELD(schedule.stop_at.threshold),
        "stop_at_loss: value of the metric that ends the run; accuracies are in per cent")
        .Unit("value", "99")
        .Needs("schedulers=stop_at_loss"),
    Now("model-checkpoint-metric", kSchedulers, kMetric, DTNN_FIELD(schedule.keep_best.metric),
        "model_checkpoint: metric that decides which parameters are the best", kWatched)
        .Means(meanings::kLossesAndMetrics)
        .Example("val_categorical_accuracy")
        .Needs("schedulers=model_checkpoint"),
    Now("model-checkpoint-save-freq", kSchedulers, kInt,
        DTNN_FIELD(schedule.keep_best.every_epochs),
        "model_checkpoint: epochs from one save to the next")
        .Unit("epochs", "5")
        .Needs("schedulers=model_checkpoint"),
    Now("cosine-min-lr", kSchedulers, kReal, DTNN_FIELD(schedule.cosine.min_rate),
        "cosine: learning rate at the end of the run, or of a cycle")
        .Unit("rate", "0.0001")
        .Needs("schedulers=cosine"),
    Now("cosine-restart-epochs", kSchedulers, kInt, DTNN_FIELD(schedule.cosine.restart_epochs),
        "cosine: epochs of the first cycle, after which the rate starts again; 0: one cycle over "
        "the run")
        .Unit("epochs", "10")
        .Needs("schedulers=cosine"),
    Now("cosine-restart-growth", kSchedulers, kInt, DTNN_FIELD(schedule.cosine.restart_growth),
        "cosine: how many times as long each cycle is as the one before")
        .Unit("factor", "2")
        .Needs("schedulers=cosine"),
    Now("polynomial-power", kSchedulers, kReal, DTNN_FIELD(schedule.polynomial.power),
        "polynomial: power of the share of the run that is left; 1 is a straight line")
        .Unit("power", "2")
        .Needs("schedulers=polynomial"),
    Now("polynomial-min-lr", kSchedulers, kReal, DTNN_FIELD(schedule.polynomial.min_rate),
        "polynomial: learning rate at the end of the run")
        .Unit("rate", "0.0001")
        .Needs("schedulers=polynomial"),

    Now("parallel", kParallel, kWord, DTNN_FIELD(ranks.parallel),
        "data: with other ranks; federated: as a client", "sequential,data,federated")
        .Means(meanings::kParallel),
    Now("server", kParallel, kText, DTNN_FIELD(federation.server),
        "where the aggregator of the federation listens, or, with mqtt, the broker")
        .Unit("HOST:PORT", "node1:61643")
        .Needs("parallel=federated"),
    Now("client-name", kParallel, kText, DTNN_FIELD(federation.client_name),
        "name of this client in the federation, the same when it joins again; if not given, "
        "the host's name and --dataset-part")
        .Unit("NAME", "hospital-1")
        .Needs("parallel=federated"),
    Now("client-labels", kParallel, kText, DTNN_FIELD(federation.client_labels),
        "what this client says of itself: labels by which the aggregator may choose whom it asks")
        .Unit("KEY=VALUE,...", "site=north,battery=80")
        .Needs("parallel=federated"),
    Now("identity-key-file", kParallel, kPath, DTNN_FIELD(federation.identity_key_file),
        "file with the private key by which this client proves its name to the aggregator, as "
        "make_certificates writes it; another key there counts from the next connection on")
        .Example("hospital-1.key")
        .Needs("parallel=federated"),
    Now("aggregator-key", kParallel, kText, DTNN_FIELD(federation.aggregator_key),
        "public key that the aggregator must prove to have, in base64; empty: any process that "
        "knows the job's secret is believed")
        .Unit("KEY", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=")
        .Needs("parallel=federated"),
    Now("local-parameters", kParallel, kText, DTNN_FIELD(federation.local_parameters),
        "parameters that stay with each client, neither sent nor received: patterns of their keys, "
        "separated by commas; the same for the aggregator and all clients")
        .Unit("PATTERNS", "*BatchNormalization*")
        .Needs("parallel=federated"),
    Now("transport", kParallel, kWord, DTNN_FIELD(ranks.transport),
        "transport of the messages between ranks, or between a client and the aggregator",
        "auto,mpi,tcp,grpc,mqtt")
        .Means(meanings::kTransport)
        .Needs("parallel=data,federated"),
    Now("rendezvous", kParallel, kText, DTNN_FIELD(ranks.rendezvous),
        "where rank 0 listens for the others, or, with mqtt, the broker; empty: PYMPI_ADDR and "
        "PYMPI_PORT")
        .Unit("HOST:PORT", "node1:61642")
        .Needs("parallel=data"),
    Now("elastic", kParallel, kText, DTNN_FIELD(ranks.elastic),
        "continue when ranks are lost, and accept new ones, while there are MIN to MAX ranks; with "
        "--transport=tcp")
        .Unit("MIN:MAX", "2:4")
        .Needs("parallel=data")
        .Refused(),
    Now("use-blocking-mpi", kParallel, kBool, DTNN_FIELD(sync.blocking),
        "exchange gradients after the backward pass; False: during it, which is faster")
        .Needs("parallel=data !optimizer=oktopk !encryption=tenseal !evaluate-only"),
    Now("use-mpi-buffers", kParallel, kWord, DTNN_FIELD(sync.mpi_sums),
        "let MPI add the gradients; False: each rank adds them itself, in the order of ranks",
        "False,True")
        .Means(meanings::kUseMpiBuffers)
        .Needs("parallel=data"),
    Now("gradient-compression", kParallel, kWord, DTNN_FIELD(sync.compression),
        "numbers that gradients are exchanged in; they are added up in float32", "none,fp16,bf16")
        .Means(meanings::kGradientCompression)
        .Needs("parallel=data !evaluate-only"),
    Now("comm-bucket-mb", kParallel, kText, DTNN_FIELD(sync.bucket_mb),
        "size of the buckets in which gradients are exchanged; auto: chosen by timing the first "
        "steps")
        .Unit("MiB")
        .Means(meanings::kCommBucket)
        .Example("16")
        .Needs("parallel=data !optimizer=oktopk !evaluate-only"),
    Now("comm-timeout", kParallel, kReal, DTNN_FIELD(ranks.timeout),
        "how long a rank waits for the others, or a client for the aggregator, before it gives up")
        .Unit("seconds", "60")
        .Needs("parallel=data,federated"),
    Now("enable-gpu", kParallel, kBool, DTNN_FIELD(device.gpu), "compute on an NVIDIA GPU"),
    Now("gpu-device", kParallel, kWord, DTNN_FIELD(device.gpu_device),
        "GPU that --enable-gpu computes on", "cuda,simulated")
        .Means(meanings::kGpuDevice)
        .Needs("enable-gpu"),
    Now("enable-gpudirect", kParallel, kBool, DTNN_FIELD(device.gpudirect),
        "let MPI read and write GPU memory; refused, since gradients go to MPI through pinned "
        "memory of the host")
        .Needs("parallel=data enable-gpu"),
    Now("enable-nccl", kParallel, kBool, DTNN_FIELD(device.nccl),
        "sum gradients on the GPUs, by NCCL, instead of in the hosts' memory")
        .Needs("parallel=data enable-gpu"),
    Now("enable-cuda-graphs", kParallel, kBool, DTNN_FIELD(device.cuda_graphs),
        "capture a training step as a CUDA graph, and replay it; where that is not possible, the "
        "run "
        "says so and continues without")
        .Needs("enable-gpu"),
    Now("enable-cudnn-auto-conv-alg", kParallel, kBool, DTNN_FIELD(device.time_cudnn),
        "time cuDNN's algorithms for every convolution before the first step, and run the fastest, "
        "which takes up to a minute for a large network; False: cuDNN guesses, and gives the same "
        "bits in every run")
        .Needs("enable-gpu"),
    Now("cudnn-plans", kParallel, kPath, DTNN_FIELD(device.cudnn_plans),
        "folder in which cuDNN's plans are kept from run to run, for each kind of GPU and version; "
        "made if it is missing")
        .Example("plans")
        .Needs("enable-gpu gpu-device=cuda"),

    Now("encryption", kEncryption, kWord, DTNN_FIELD(encryption.kind),
        "how clients of a federation hide their updates from the aggregator; tenseal also hides "
        "the "
        "gradients and models of ranks from the server or broker that carries them",
        "masked,tenseal,openfhe")
        .Means(meanings::kEncryption)
        .Needs("parallel=data,federated")
        .Refused(),
    Now("encryption-poly-degree", kEncryption, kInt, DTNN_FIELD(encryption.poly_degree),
        "base-2 logarithm of the ring dimension")
        .Unit("log2", "14")
        .Needs("encryption=tenseal,openfhe"),
    Now("encryption-global-scale", kEncryption, kInt, DTNN_FIELD(encryption.global_scale),
        "base-2 logarithm of the scale; openfhe without this option: 61, because of the noise that "
        "protects its keys")
        .Unit("log2", "45")
        .Needs("encryption=tenseal,openfhe"),
    Now("encryption-security-level", kEncryption, kWord, DTNN_FIELD(encryption.security_level),
        "bits of security", "0,128,192,256")
        .Means(meanings::kSecurityLevel)
        .Needs("encryption=tenseal,openfhe"),
    Now("encryption-key-file", kEncryption, kPath, DTNN_FIELD(encryption.key_file),
        "file with the key that all clients share and the aggregator must not have, or that all "
        "ranks share: at least 32 random characters, readable by its owner only; masked, openfhe: "
        "an aggregator without it cannot pose as the other clients")
        .Example("clients.key")
        .Needs("encryption=masked,tenseal,openfhe"),
    Now("plain-metrics", kEncryption, kBool, DTNN_FIELD(federation.plain_metrics),
        "send this client's metrics to the aggregator unencrypted, though it cannot read the "
        "model; "
        "False: not at all. With masked and openfhe it reads the clients' mean only")
        .Needs("encryption=tenseal parallel=federated"),
    Now("mask-neighbours", kEncryption, kInt, DTNN_FIELD(federation.mask_neighbours),
        "number of other clients with which each client shares its masks, drawn at random by all; "
        "at "
        "least this number, and as many as are enough for the clients of a round: of 1000 clients "
        "182. It allows rounds of 1024 clients, and protects from an aggregator with fewer helpers "
        "among the clients. 0: all others, of 255 clients at most")
        .Unit("clients", "100")
        .Needs("encryption=masked parallel=federated"),
    Now("least-clients", kEncryption, kReal, DTNN_FIELD(federation.least_clients),
        "send an update only if the sum hides it at least as well as this number of clients with "
        "equal weights would: by (sum of weights)^2 / sum of their squares")
        .Unit("clients", "3")
        .Needs("encryption=masked,openfhe parallel=federated"),
    Now("dp-clip", kEncryption, kReal, DTNN_FIELD(federation.dp_clip),
        "differential privacy: longest update of a client, as Euclidean norm; longer ones are "
        "shortened to it. 0: none. For single samples of other runs there is --dp-sgd-clip")
        .Unit("norm", "5")
        .Needs("parallel=federated"),
    Now("dp-noise", kEncryption, kReal, DTNN_FIELD(federation.dp_noise),
        "differential privacy: deviation of the noise over --dp-clip, in each update, or with "
        "--encryption in each sum of them")
        .Unit("factor", "0.8")
        .Needs("dp-clip"),
    Now("dp-delta", kEncryption, kReal, DTNN_FIELD(federation.dp_delta),
        "differential privacy: the delta for which epsilon is reported")
        .Unit("probability", "1e-6")
        .Needs("dp-clip"),
    Now("dp-quantile", kEncryption, kReal, DTNN_FIELD(federation.dp_quantile),
        "differential privacy: the clip begins with --dp-clip and follows this quantile of the "
        "lengths of updates from round to round: 0.5 shortens half of them. 0: it stays")
        .Unit("share", "0.5")
        .Needs("dp-clip"),
    Now("dp-clip-rate", kEncryption, kReal, DTNN_FIELD(federation.dp_clip_rate),
        "--dp-quantile: how fast the clip follows: a round in which all updates are shorter makes "
        "it smaller by the factor e^-(rate (1 - quantile))")
        .Unit("rate", "0.1")
        .Needs("dp-quantile"),
    Now("dp-bit-noise", kEncryption, kReal, DTNN_FIELD(federation.dp_bit_noise),
        "--dp-quantile: deviation of the noise of the number of updates that are shorter than the "
        "clip, in each update, or with --encryption in each sum of them; 0: twice --dp-noise")
        .Unit("updates", "2")
        .Needs("dp-quantile"),

    Now("tracing", kTracing, kBool, DTNN_FIELD(output.tracing),
        "record a trace of the run; --tracer-output alone does so too")
        .Needs("tracer-output"),
    Now("tracer-output", kTracing, kText, DTNN_FIELD(output.trace),
        "file of the trace: .json for ui.perfetto.dev and chrome://tracing or .prv for Paraver, "
        "with all that each rank did; .csv, .txt, .trc or no ending for calls, total and median "
        "time of "
        "each layer, on rank 0, or, with {rank} in the name, in a file for each rank")
        .Unit("file")
        .Output()
        .Example("trace.json"),
    Now("tracer-pmlib-server", kTracing, kText, DTNN_FIELD(output.pmlib.server),
        "host of the PMlib server that reads the power meter")
        .Unit("host")
        .Example("meters.example.org")
        .Needs("tracer-pmlib-device"),
    Now("tracer-pmlib-port", kTracing, kInt, DTNN_FIELD(output.pmlib.port),
        "TCP port of the PMlib server")
        .Unit("port", "6527")
        .Needs("tracer-pmlib-device"),
    Now("tracer-pmlib-device", kTracing, kText, DTNN_FIELD(output.pmlib.device),
        "power meter that --energy asks, as its PMlib server calls it, instead of the machine's "
        "counters")
        .Unit("device")
        .Example("node1")
        .Needs("energy"),
    Now("profile", kTracing, kText, DTNN_FIELD(output.profile),
        "print where the time of training went, by layer and by activity, and how close that is to "
        "the machine's limits; a file that ends in .json or .csv gets the same as data",
        "False,True")
        .Unit("file")
        .Output()
        .Example("profile.json")
        .Needs("!evaluate-only"),

    Now("report", kTracing, kPath, DTNN_FIELD(output.report),
        "after each epoch, write a page on the run to this file: curves, where time and memory go, "
        "what the network gets wrong; .html")
        .Output()
        .Example("run.html")
        .Needs("!evaluate-only"),
    Now("energy", kTracing, kBool, DTNN_FIELD(output.energy),
        "measure the energy that the machine uses, per epoch and per sample, where it has counters")
        .Needs("!evaluate-only"),
    Now("tensorboard-dir", kTracing, kPath, DTNN_FIELD(output.tensorboard),
        "after each epoch, write curves and histograms to event files for TensorBoard in this "
        "folder")
        .Output()
        .Example("board")
        .Needs("!evaluate-only"),

    Now("options", kOther, kPath, DTNN_FIELD(options_file),
        "read options from this file in YAML (batch-size: 64); the command line wins")
        .Example("run.yaml"),
    Now("save-options", kOther, kPath, DTNN_FIELD(save_options),
        "write all options of this run to a file for --options")
        .Output()
        .Example("run.yaml"),
    Now("dry-run", kOther, kBool, DTNN_FIELD(dry_run),
        "print the network, its memory and its work; load no data, compute nothing"),
    Now("force", kOther, kBool, DTNN_FIELD(force),
        "run even if the network needs more memory than is free"),
    Now("quiet", kOther, kBool, DTNN_FIELD(output.quiet), "print results and warnings only"),
    Now("progress", kOther, kWord, DTNN_FIELD(progress), "how a run shows its progress",
        "auto,bar,line,none")
        .Means(meanings::kProgress),
    Now("metrics-port", kOther, kInt, DTNN_FIELD(monitor.port),
        "port of TCP where rank 0 reports on the run by HTTP: /metrics for Prometheus, "
        "/status.json, "
        "/healthz; 0: a free one, which is printed")
        .Unit("port", "61645")
        .Within({.low = 0, .high = 65535}),
    Now("metrics-listen", kOther, kText, DTNN_FIELD(monitor.listen),
        "address of this host for --metrics-port; 0.0.0.0: all of them")
        .Unit("address", "0.0.0.0")
        .Needs("metrics-port"),
    Now("metrics-certificate", kOther, kPath, DTNN_FIELD(monitor.certificate),
        "serve --metrics-port over TLS with this certificate (PEM), perhaps with those that signed "
        "it")
        .Example("server.pem")
        .Needs("metrics-port"),
    Now("metrics-key", kOther, kPath, DTNN_FIELD(monitor.key),
        "private key of --metrics-certificate (PEM), which only its owner may read")
        .Example("server.key")
        .Needs("metrics-port"),
    Now("metrics-token-file", kOther, kPath, DTNN_FIELD(monitor.token_file),
        "require the token in this file, which only its owner may read, for --metrics-port; "
        "/healthz "
        "needs none")
        .Example("token")
        .Needs("metrics-port"),
    Now("metrics-allow-unprotected", kOther, kBool, DTNN_FIELD(monitor.allow_unprotected),
        "open --metrics-port to other hosts even without TLS or without a token")
        .Needs("metrics-port"),
    Now("metrics-allowed-hosts", kOther, kText, DTNN_FIELD(monitor.allowed_hosts),
        "other names by which callers may reach --metrics-port, separated by commas; without a "
        "token, a program that listens for this host alone otherwise answers requests to localhost "
        "and its own address only")
        .Unit("names", "node1.internal")
        .Needs("metrics-port"),
    Now("log-format", kOther, kWord, DTNN_FIELD(log_format), "form of what the program writes",
        "text,json")
        .Means(meanings::kLogFormat),
    Now("verbose", kOther, kWord, DTNN_FIELD(output.verbose), "also print what was chosen and why",
        "False,True,dispatch")
        .Means(meanings::kVerbose),
    Now("cpu-speed", kOther, kReal, DTNN_FIELD(prediction.cpu_speed),
        "floating-point operations per second, for the step time that --profile predicts; 0: as "
        "measured")
        .Unit("FLOP/s", "4e12")
        .Needs("!profile=False"),
    Now("memory-bw", kOther, kReal, DTNN_FIELD(prediction.memory_bandwidth),
        "bytes of memory copied per second, for the step time that --profile predicts; 0: as "
        "measured")
        .Unit("bytes/s", "50e9")
        .Needs("!profile=False"),
    Now("network-bw", kOther, kReal, DTNN_FIELD(prediction.network_bandwidth),
        "bytes per second of the network, for the step time that --profile predicts")
        .Unit("bytes/s", "125e6")
        .Needs("!profile=False parallel=data"),
    Now("network-lat", kOther, kReal, DTNN_FIELD(prediction.network_latency),
        "latency of a message, for the step time that --profile predicts")
        .Unit("seconds", "25e-6")
        .Needs("!profile=False parallel=data"),
    Now("network-alg", kOther, kWord, DTNN_FIELD(prediction.network_algorithm),
        "all-reduce of gradients, for the step time that --profile predicts", "vdg,bta")
        .Means(meanings::kNetworkAlg)
        .Needs("!profile=False parallel=data"),
};

struct GroupText {
  std::string_view name, title, needs = {};
};
constexpr std::string_view kTraining = "!evaluate-only";
constexpr GroupText kGroups[kOptionGroups] = {
    {"model", "Model and run"},
    {"synchronisation", "Synchronisation of ranks", kTraining},
    {"dataset", "Data set"},
    {"optimisation", "Optimisation"},
    {"convolution", "Convolution"},
    {"optimizer", "Optimizer, loss and metrics", kTraining},
    {"schedulers", "Learning-rate schedulers", kTraining},
    {"parallel", "Parallel and devices"},
    {"encryption", "Encryption"},
    {"tracing", "Tracing and profiling"},
    {"other", "Cost model and others"},
};

// The numbers that an option of a run takes are said beside its member.
std::vector<OptionSpec> WithRanges() {
  std::vector<OptionSpec> table(std::begin(kTable), std::end(kTable));
  for (OptionSpec& spec : table) {
    const auto member = std::ranges::find(OptionMembers(), spec.path, &OptionMember::path);
    if (member != OptionMembers().end()) spec.range = member->range;
  }
  return table;
}

}  // namespace

std::string_view Name(OptionGroup group) { return kGroups[static_cast<int>(group)].name; }
std::string_view Title(OptionGroup group) { return kGroups[static_cast<int>(group)].title; }
std::string_view NeedsOf(OptionGroup group) { return kGroups[static_cast<int>(group)].needs; }

std::span<const OptionSpec> OptionTable() {
  static const auto& table = *new std::vector<OptionSpec>(WithRanges());
  return table;
}

const OptionSpec* FindOption(std::string_view name) {
  const auto it = std::ranges::find(OptionTable(), name, &OptionSpec::name);
  return it == OptionTable().end() ? nullptr : &*it;
}

std::string_view LossWords() { return kLosses; }

}  // namespace dtnn
