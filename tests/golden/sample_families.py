"""Which operations of PyTorch's op_db make_samples.py writes, by file, and how those are called that minnow has in another form."""
import re

import torch

FAMILIES = {
    "unary":"""abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
        floor frac isfinite isinf isnan lgamma log log10 log1p log2 logical_not logit neg polygamma/polygamma_n_0 rad2deg reciprocal round rsqrt sigmoid sign sgn
        sin sinh sqrt square tan tanh trunc nan_to_num positive""",
    "activation":"""nn.functional.celu nn.functional.elu nn.functional.gelu nn.functional.hardshrink nn.functional.hardsigmoid
        nn.functional.hardswish nn.functional.hardtanh nn.functional.leaky_relu nn.functional.logsigmoid nn.functional.mish
        nn.functional.prelu nn.functional.relu nn.functional.relu6 nn.functional.selu nn.functional.silu nn.functional.softplus
        nn.functional.softshrink nn.functional.softsign nn.functional.tanhshrink nn.functional.threshold nn.functional.glu
        softmax log_softmax nn.functional.softmin softmax/with_dtype log_softmax/with_dtype clamp clamp_min clamp_max""",
    "binary":"""__radd__ __rdiv__ __rmod__ __rmul__ __rpow__ __rsub__ __rand__ __ror__ __rxor__ add sub rsub mul
        div/no_rounding_mode true_divide floor_divide fmod remainder pow maximum minimum max/binary min/binary fmax fmin atan2
        hypot copysign logaddexp eq ne lt le gt ge equal isclose allclose logical_and logical_or logical_xor bitwise_and
        bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift where lerp addcmul addcdiv float_power""",
    "reduce":"""sum mean var std var/unbiased std/unbiased prod amax amin aminmax any all norm norm/fro norm/inf logsumexp
        cumsum cumprod logcumsumexp cummax cummin diff max/reduction_with_dim max/reduction_no_dim min/reduction_with_dim
        min/reduction_no_dim argmax argmin sum_to_size std_mean var_mean std_mean/unbiased var_mean/unbiased nansum nanmean
        count_nonzero bincount nn.functional.normalize nn.functional.cosine_similarity cdist nn.functional.pairwise_distance
        nn.functional.pdist linalg.vector_norm linalg.matrix_norm""",
    "order":"""sort msort argsort topk kthvalue median nanmedian quantile mode searchsorted bucketize histc unique
        unique_consecutive isin""",
    "shape":"""H T mT t ravel reshape reshape_as view view_as flatten unflatten squeeze unsqueeze permute
        transpose expand expand_as broadcast_to broadcast_tensors narrow select diagonal diag diag_embed
        hstack vstack cat stack chunk split split/list_args split_with_sizes
         unbind unfold repeat tile roll flip fliplr flipud meshgrid/variadic_tensors meshgrid/list_of_tensors
        repeat_interleave nn.functional.pad/constant nn.functional.pad/reflect nn.functional.pad/replicate
        nn.functional.pad/replicate_negative nn.functional.pad/circular constant_pad_nd clone contiguous tril triu trace
               zeros_like ones_like full_like""",
    "index":"""gather scatter scatter_add scatter_reduce/sum scatter_reduce/prod scatter_reduce/mean scatter_reduce/amax
        scatter_reduce/amin index_select index_add index_copy index_fill index_put take_along_dim masked_fill masked_select
        masked_scatter nonzero argwhere nn.functional.embedding nn.functional.embedding_bag nn.functional.one_hot __getitem__
         """,
    "pool":"""nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.max_pool3d nn.functional.avg_pool1d
        nn.functional.avg_pool2d nn.functional.avg_pool3d nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d
        nn.functional.adaptive_avg_pool3d nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d
        nn.functional.adaptive_max_pool3d nn.functional.max_unpool1d nn.functional.max_unpool2d nn.functional.max_unpool3d
        nn.functional.pixel_shuffle nn.functional.pixel_unshuffle nn.functional.channel_shuffle nn.functional.unfold
        nn.functional.interpolate/nearest nn.functional.interpolate/nearest-exact nn.functional.interpolate/linear
        nn.functional.interpolate/bilinear nn.functional.interpolate/bicubic nn.functional.interpolate/trilinear
        nn.functional.interpolate/area nn.functional.upsample_bilinear nn.functional.upsample_nearest
        nn.functional.grid_sample""",
    "conv":"""nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d
        nn.functional.conv_transpose2d nn.functional.conv_transpose3d nn.functional.batch_norm nn.functional.instance_norm
        nn.functional.group_norm nn.functional.layer_norm nn.functional.rms_norm nn.functional.local_response_norm""",
    "loss":"""nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits nn.functional.cross_entropy
        nn.functional.nll_loss nn.functional.mse_loss nn.functional.l1_loss nn.functional.smooth_l1_loss
        nn.functional.huber_loss nn.functional.kl_div nn.functional.gaussian_nll_loss nn.functional.poisson_nll_loss
        nn.functional.soft_margin_loss nn.functional.hinge_embedding_loss nn.functional.margin_ranking_loss
        nn.functional.cosine_embedding_loss nn.functional.triplet_margin_loss nn.functional.multilabel_margin_loss
        nn.functional.multilabel_soft_margin_loss nn.functional.multi_margin_loss nn.functional.ctc_loss""",
    "product":"""matmul __rmatmul__ mm bmm mv dot vdot outer inner tensordot kron cross linalg.cross addmm addmm/decomposed
        baddbmm addbmm addmv addr einsum linalg.multi_dot linalg.vecdot nn.functional.linear nn.functional.bilinear
        nn.functional.scaled_dot_product_attention linalg.cholesky linalg.solve linalg.solve_triangular linalg.inv linalg.pinv
        linalg.det linalg.slogdet linalg.qr linalg.eigh linalg.eigvalsh linalg.svd linalg.svdvals linalg.lstsq
        linalg.matrix_power""",
    "signal": """fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn
        fft.fftshift fft.ifftshift stft""",
}
# Arguments for which minnow has no form.
WITHOUT_FORM = re.compile(
    r" out=| out_int32=True| indexing='xy'| as_tuple=True|interpolation='(?!linear)|^unique .* sorted=False|^scatter .* ('|reduce=)|"
    r"^index_add .* alpha=|^unique_consecutive .* dim=|^(std|var).*dim=0 unbiased|^(std|var).* dim=1 unbiased=True keepdim|"
    r"^linalg.matrix_norm .*[^']('nuc'|inf|-?1|-?2|-?1.0) |^quantile \S+ \S+ \S+\[|^sum_to_size [iub] |"
    r"^cum(sum|prod) [iub] .*dtype=:[iub]|scale_grad_by_freq=True|max_norm=|sparse=True|^(arg)?sort .* stable=False|"
    r"^__getitem__ .*(True|False)|^fft.* s=|^fft.\w+2 .* dim=|^fft.* [liub] |onesided=False|^stft .*pad_mode|_pool.d [liu] |conv\w+ [liu] |response_norm [liu] |recompute_scale_factor=True")
# Families of which the values matter: they are stored.
STORED = set(FAMILIES["index"].split()) | {name for name in FAMILIES["product"].split() if name.startswith("linalg.")} | {
    "bincount", "searchsorted", "nn.functional.ctc_loss", "nn.functional.cross_entropy", "nn.functional.nll_loss",
    "nn.functional.multilabel_margin_loss", "nn.functional.multi_margin_loss", "bitwise_left_shift", "bitwise_right_shift",
    "bucketize", "isin", "unique", "unique_consecutive", "mode"}


def lower_triangle(a, **keywords):
    return torch.linalg.cholesky((a + a.mT) / 2, **keywords)


# Without what is free (signs, order of vectors), and of symmetric matrices.
WRAPPED = {
    "linalg.qr": lambda a, mode="reduced": torch.linalg.qr(a, mode=mode)[1].abs(),
    "linalg.eigh": lambda a, *_, **__: torch.linalg.eigh((a + a.mT) / 2)[0],
    "linalg.eigvalsh": lambda a, *_, **__: torch.linalg.eigvalsh((a + a.mT) / 2),
    "linalg.svd": lambda a, **_: torch.linalg.svd(a, full_matrices=False)[1],
    "linalg.lstsq": lambda a, b, **_: torch.linalg.lstsq(a, b)[0],
    "linalg.cholesky": lower_triangle,
}
