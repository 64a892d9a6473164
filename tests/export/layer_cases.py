"""Small nets, each with a layer type in one of its settings."""

INPUT = ('name: "%s" layer { name: "x" type: "Input" top: "x" '
         'input_param { shape { dim: [2, 6, 9, 8] } } }\n')


def layer(kind, bottoms, top, settings=""):
    names = " ".join(f'bottom: "{bottom}"' for bottom in bottoms.split())
    tops = " ".join(f'top: "{name}"' for name in top.split())
    return f'layer {{ name: "{top.split()[0]}" type: "{kind}" {names} {tops} {settings} }}\n'


def conv(top, bottom, settings="num_output: 6 kernel_size: 3 pad: 1"):
    return layer("Convolution", bottom, top, f"convolution_param {{ {settings} }}")


def vectors(top):
    """N x 6, from the means of the channels."""
    return (layer("Pooling", "x", "means", "pooling_param { pool: AVE global_pooling: true }") +
            layer("Flatten", "means", top))


NORM = layer("BatchNorm", "c", "n") + layer("Scale", "n", "y", "scale_param { bias_term: true }")

# {type or name: settings} of layers with one bottom and one top.
SINGLE = {
    "AbsVal": "",
    "BNLL": "",
    "Clip": "clip_param { min: -0.5 max: 0.7 }",
    "ELU": "elu_param { alpha: 0.7 }",
    "Exp": "exp_param { base: 2 scale: 0.5 shift: 0.3 }",
    "GELU": "",
    "GELU tanh": "gelu_param { tanh: true }",
    "HardSwish": "",
    "Power": "power_param { power: 1 scale: 0.5 shift: 2 }",
    "Power square": "power_param { power: 2 scale: 0.5 shift: -1 }",
    "Power identity": "",
    "ReLU": "",
    "ReLU leaky": "relu_param { negative_slope: 0.1 }",
    "Sigmoid": "",
    "SiLU": "",
    "Swish": "swish_param { beta: 1.5 }",
    "TanH": "",
    "Dropout": "",
    "StochasticDepth": "",
    "Convolution": "convolution_param { num_output: 5 kernel_size: 3 }",
    "Convolution windows": "convolution_param { num_output: 4 kernel_h: 3 kernel_w: 2 pad_h: 2 "
                           "stride_h: 2 stride_w: 1 bias_term: false }",
    "Convolution dilated": "convolution_param { num_output: 4 kernel_size: 3 pad: 2 dilation: 2 }",
    "Convolution groups": "convolution_param { num_output: 4 kernel_size: 3 group: 2 }",
    "ConvolutionDepthwise": "convolution_param { num_output: 6 kernel_size: 3 pad: 1 }",
    "Deconvolution": "convolution_param { num_output: 4 kernel_size: 4 stride: 2 pad: 1 group: 2 }",
    "Deconvolution dilated": "convolution_param { num_output: 5 kernel_size: 3 stride: 2 "
                             "dilation: 2 bias_term: false }",
    "InnerProduct": "inner_product_param { num_output: 7 }",
    "InnerProduct axis": "inner_product_param { num_output: 7 axis: 2 bias_term: false }",
    "InnerProduct last": "inner_product_param { num_output: 7 axis: -1 }",
    "Pooling max": "pooling_param { kernel_size: 3 stride: 2 }",
    "Pooling max padded": "pooling_param { kernel_size: 3 stride: 2 pad: 1 }",
    "Pooling max steps": "pooling_param { kernel_size: 2 stride: 3 }",
    "Pooling max floor": "pooling_param { kernel_size: 2 stride: 2 round_mode: FLOOR }",
    "Pooling max global": "pooling_param { global_pooling: true }",
    "Pooling mean": "pooling_param { pool: AVE kernel_size: 3 stride: 2 }",
    "Pooling mean padded": "pooling_param { pool: AVE kernel_size: 3 stride: 1 pad: 1 }",
    "Pooling mean corrected": "pooling_param { pool: AVE kernel_size: 4 stride: 3 pad: 1 }",
    "Pooling mean one side": "pooling_param { pool: AVE kernel_size: 4 stride: 3 pad_h: 1 }",
    "Pooling mean floor": "pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 "
                          "ceil_mode: false }",
    "Pooling mean global": "pooling_param { pool: AVE global_pooling: true }",
    "LRN": "lrn_param { local_size: 3 alpha: 0.5 beta: 0.75 k: 2 }",
    "LRN within": "lrn_param { local_size: 3 alpha: 0.5 beta: 0.6 norm_region: WITHIN_CHANNEL }",
    "BatchNorm": "",
    "BatchNorm scale_bias": "batch_norm_param { scale_bias: true eps: 0.01 }",
    "BatchNorm own": "batch_norm_param { use_global_stats: false }",
    "LayerNorm": "",
    "LayerNorm axis": "layer_norm_param { axis: -2 eps: 0.01 }",
    "LayerNorm channels": "layer_norm_param { channels_only: true }",
    "LayerNorm plain": "layer_norm_param { elementwise_affine: false }",
    "Scale": "scale_param { bias_term: true }",
    "Scale axes": "scale_param { axis: 1 num_axes: -1 }",
    "Scale number": "scale_param { axis: 0 num_axes: 0 bias_term: true }",
    "Bias": "",
    "Bias axis": "bias_param { axis: 2 num_axes: 1 }",
    "PReLU": "",
    "PReLU shared": "prelu_param { channel_shared: true }",
    "Softmax": "",
    "Softmax axis": "softmax_param { axis: -1 }",
    "ArgMax": "",
    "ArgMax values": "argmax_param { top_k: 3 out_max_val: true }",
    "ArgMax axis": "argmax_param { axis: 1 top_k: 2 }",
    "ArgMax axis values": "argmax_param { axis: -1 out_max_val: true }",
    "Reduction": "reduction_param { axis: 1 coeff: 0.5 }",
    "Reduction absolute": "reduction_param { operation: ASUM axis: 2 }",
    "Reduction squares": "reduction_param { operation: SUMSQ axis: -1 }",
    "Reduction mean": "reduction_param { operation: MEAN axis: 1 coeff: 3 }",
    "Flatten": "",
    "Flatten axes": "flatten_param { axis: 2 }",
    "Flatten front": "flatten_param { axis: 0 end_axis: 1 }",
    "Reshape": "reshape_param { shape { dim: [0, 3, -1] } }",
    "Reshape part": "reshape_param { axis: 1 num_axes: 1 shape { dim: [2, 3] } }",
    "Reshape batch": "reshape_param { shape { dim: [-1, 8] } }",
    "Permute": "permute_param { order: [0, 2, 3, 1] }",
    "ShuffleChannel": "shuffle_channel_param { group: 3 }",
    "Tile": "tile_param { axis: 1 tiles: 3 }",
    "Tile batch": "tile_param { axis: 0 tiles: 2 }",
    "Interp": "interp_param { height: 17 width: 5 }",
    "Interp zoom": "interp_param { zoom_factor: 3 }",
    "Interp shrink": "interp_param { shrink_factor: 2 }",
    "Interp point": "interp_param { height: 1 width: 1 }",
}

# {name: (layers, flags, nodes to expect; "!Op" = none of these)}
MORE = {
    "Log": (layer("Exp", "x", "e") + layer("Log", "e", "y", "log_param { base: 10 scale: 3 "
                                                            "shift: 0.5 }"), [], ["Log"]),
    "Power root": (layer("Exp", "x", "e") +
                   layer("Power", "e", "y", "power_param { power: 0.3 shift: 1 }"), [], ["Pow"]),
    "Eltwise sum": (layer("ReLU", "x", "r") +
                    layer("Eltwise", "x r x", "y", "eltwise_param { coeff: [1, -2, 0.5] }"), [],
                    None),
    "Eltwise product": (layer("Sigmoid", "x", "s") + layer("Eltwise", "x s x", "y",
                        "eltwise_param { operation: PROD }"), [], None),
    "Eltwise maximum": (layer("Sigmoid", "x", "s") + layer("Eltwise", "x s", "y",
                        "eltwise_param { operation: MAX }"), [], ["Max"]),
    "Concat": (layer("ReLU", "x", "r") + layer("Concat", "x r", "y"), [], ["Concat"]),
    "Concat axis": (layer("ReLU", "x", "r") + layer("Concat", "x r", "y", "concat_param { axis: "
                                                    "-1 }"), [], None),
    "Concat batch": (layer("ReLU", "x", "r") + layer("Concat", "x r", "y", "concat_param { axis: "
                                                     "0 }"), [], None),
    "Slice": (layer("Slice", "x", "a b c", "slice_param { slice_point: [1, 4] }") +
              layer("Sigmoid", "b", "y"), [], ["Split"]),
    "Slice axis": (layer("Slice", "x", "a b", "slice_param { axis: 3 }"), [], ["Split"]),
    "Split": (layer("Split", "x", "a b") + layer("ReLU", "a", "y"), [], None),
    "Crop": (conv("c", "x", "num_output: 2 kernel_size: 3") +
             layer("Crop", "x c", "y", "crop_param { axis: 2 offset: [1, 2] }"), [], ["Slice"]),
    "Crop equal": (layer("ReLU", "x", "r") + layer("Crop", "r x", "y"), [], ["!Slice"]),
    "Interp reference": (conv("c", "x", "num_output: 2 kernel_size: 4") +
                         layer("Interp", "x c", "y"), [], ["Resize"]),
    "ScaleBy": (vectors("v") + layer("Scale", "x v", "y", "scale_param { axis: 0 }"), [], None),
    "ScaleBy map": (layer("Sigmoid", "x", "s") + layer("Scale", "x s", "y", "scale_param { axis: "
                                                       "0 }"), [], None),
    "BiasBy": (vectors("v") + layer("Bias", "x v", "y", "bias_param { axis: 0 }"), [], None),
    "Axpy": (layer("Pooling", "x", "f", "pooling_param { pool: AVE global_pooling: true }") +
             layer("Sigmoid", "x", "s") + layer("Axpy", "f x s", "y"), [], None),
    "Axpy vectors": (vectors("v") + layer("Sigmoid", "x", "s") + layer("Axpy", "v x s", "y"), [],
                     None),
    "folded": (conv("c", "x") + NORM, [], ["!BatchNormalization"]),
    "folded without bias": (conv("c", "x", "num_output: 4 kernel_size: 3 group: 2 bias_term: "
                                 "false") + NORM, [], ["!BatchNormalization"]),
    "folded product": (layer("InnerProduct", "x", "c", "inner_product_param { num_output: 5 }") +
                       NORM, [], ["!BatchNormalization"]),
    "not folded": (conv("c", "x") + NORM, ["--nofold_batch_norm"], ["BatchNormalization"]),
    "not folded, two readers": (conv("c", "x") + NORM + layer("Eltwise", "c y", "z"), [],
                                ["BatchNormalization"]),
    "not folded, shared": (
        layer("Convolution", "x", "c", 'param { name: "w" } convolution_param { num_output: 6 '
              'kernel_size: 3 pad: 1 bias_term: false }') + NORM +
        layer("Convolution", "y", "d", 'param { name: "w" } convolution_param { num_output: 6 '
              'kernel_size: 3 pad: 1 bias_term: false }'), [], ["BatchNormalization"]),
    "in place": (conv("c", "x") + layer("ReLU", "c", "c") + layer("Dropout", "c", "c") +
                 layer("Sigmoid", "c", "y"), [], ["Relu", "Sigmoid", "!Identity"]),
    "batch cut": (layer("Concat", "x x", "c", "concat_param { axis: 0 }") + conv("d", "c") +
                  layer("Slice", "d", "y z", "slice_param { axis: 0 }"), [], ["Split"]),
    "batch moved": (layer("Permute", "x", "y", "permute_param { order: [1, 0, 2, 3] }"),
                    ["--fixed_batch"], ["Transpose"]),
    "batch reshaped": (layer("Reshape", "x", "r", "reshape_param { shape { dim: [2, -1] } }") +
                       layer("InnerProduct", "r", "y", "inner_product_param { num_output: 3 }"),
                       ["--fixed_batch"], ["Gemm"]),
    "scores": (layer("InnerProduct", "x", "y", "inner_product_param { num_output: 5 }") +
               'layer { name: "l" type: "Input" top: "l" input_param { shape { dim: 2 } } }\n' +
               layer("SoftmaxWithLoss", "y l", "loss") + layer("Accuracy", "y l", "accuracy"),
               ["--softmax"], ["Softmax"]),
    "pixels": (conv("c", "x"), ["--normalize"], ["Cast", "Sub", "Div"]),
}


def all_cases():
    """(name, prototxt, flags of dump_onnx, nodes to expect or None)"""
    for name, settings in SINGLE.items():
        kind = name.split()[0]
        yield name.replace(" ", "_"), INPUT % name + layer(kind, "x", "y", settings), [], None
    for name, (layers, flags, expect) in MORE.items():
        yield name.replace(" ", "_").replace(",", ""), INPUT % name + layers, flags, expect
